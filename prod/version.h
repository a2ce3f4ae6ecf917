/* Version: what `sfprod --version` says; the same as the build's (tests/prod/test_sfprod_options.c). */
#ifndef SF_PROD_VERSION_H
#define SF_PROD_VERSION_H

#define SF_PROD_VERSION_TEXT "0.1.0"

#endif
