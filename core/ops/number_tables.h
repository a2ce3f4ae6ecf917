/* Tables that reading and writing numbers share: exact powers. */
#ifndef SF_CORE_OPS_NUMBER_TABLES_H
#define SF_CORE_OPS_NUMBER_TABLES_H

#include <stdint.h>

__extension__ typedef unsigned __int128 sfi_u128;

#define SFI_POWERS_OF_5 28u
extern const uint64_t sfi_power_of_5[SFI_POWERS_OF_5]; /* all that fit */
extern const double sfi_power_of_10[23];               /* all that are exact */

#endif
