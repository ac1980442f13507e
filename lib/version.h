/* What the programs answer to --version. */
#pragma once

#define DUOPOLY_VERSION "0.1"
