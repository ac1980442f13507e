/* Whether a sanitizer is built in. Such a program makes system calls of its own and lays out its
 * memory differently, which limits on calls and work on memory must not disturb. */
#pragma once

#ifndef __has_feature /* clang's way */
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#else
#define SANITIZED false
#endif
