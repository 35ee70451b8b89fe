/* Replaces a library of Windows 10 that Rust's standard library needs for random numbers. Wine 8.0 lacks the library; newer versions have it. `.ci/long Windows` builds this file. */
unsigned char __stdcall SystemFunction036(void *bytes, unsigned long count); /* RtlGenRandom, in advapi32 */

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *bytes, unsigned long long count)
{
    return SystemFunction036(bytes, (unsigned long)count);
}
