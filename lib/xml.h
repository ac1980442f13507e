/* Text between the tags of an XML document, such as a picture. */
#pragma once

#include <stdio.h>

/* Writes the text so that none of it is taken for a tag. Not for attributes: quotes stay as they
 * are. O(its length). Errors are the stream's: ferror() says so. */
void xml_text(FILE *out, const char *text);
