# Dates of the proleptic Gregorian calendar <-> days since 1970-01-01, and division that floors.
#
# The year starts in March here, so that the leap day is the last day of a year and month lengths
# follow one line: month m (0 = March) starts on day (153 m + 2) / 5.  400 years are 146,097 days.
#
# Header only: `cimport` it; there is no module `civil` at run time.

from libc.stdint cimport int64_t

# What `datetime` can hold, as days: 0001-01-01 and 9999-12-31.
cdef enum:
    FIRST_DAY = -719162
    LAST_DAY = 2932896

cdef struct Civil:
    int year
    int month       # 1-12
    int day         # 1-31


# The quotient rounded towards minus infinity; `divisor` > 0.  In C, because what `//` and `%` do
# with negative numbers, and whether they overflow for INT64_MIN, depends on Cython's directives.
cdef extern from *:
    """
    #include <stdint.h>
    static inline int64_t flinkish_floor_div(int64_t value, int64_t divisor) {
        return value / divisor - (value % divisor < 0);
    }
    """
    int64_t floor_div "flinkish_floor_div" (int64_t value, int64_t divisor) noexcept nogil


# The date of a day number between FIRST_DAY and LAST_DAY.
cdef inline Civil civil_of_days(int64_t days) noexcept nogil:
    cdef Civil date
    cdef int64_t from_march = days + 719468                 # days since 0000-03-01, positive
    cdef int64_t era = from_march // 146097
    cdef int64_t in_era = from_march - era * 146097
    cdef int64_t year = (in_era - in_era // 1460 + in_era // 36524 - in_era // 146096) // 365
    cdef int64_t in_year = in_era - (365 * year + year // 4 - year // 100)
    cdef int64_t month = (5 * in_year + 2) // 153
    date.day = <int>(in_year - (153 * month + 2) // 5 + 1)
    date.month = <int>(month + 3 if month < 10 else month - 9)
    date.year = <int>(year + era * 400 + (1 if date.month <= 2 else 0))
    return date


# The day number of a date of the years 1 to 9999.
cdef inline int64_t days_of_civil(int64_t year, int64_t month, int64_t day) noexcept nogil:
    if month <= 2:
        year -= 1
    cdef int64_t era = year // 400
    cdef int64_t in_era = year - era * 400
    cdef int64_t from_march = month - 3 if month > 2 else month + 9
    cdef int64_t in_year = (153 * from_march + 2) // 5 + day - 1
    return era * 146097 + in_era * 365 + in_era // 4 - in_era // 100 + in_year - 719468
