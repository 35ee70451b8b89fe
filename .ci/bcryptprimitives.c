/* A library of Windows 10 that Rust's standard library asks for random numbers, and that Wine 8.0 lacks: newer ones have it. For `.ci/long Wine`. */
unsigned char __stdcall SystemFunction036(void *bytes, unsigned long count); /* RtlGenRandom, in advapi32 */

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *bytes, unsigned long long count)
{
    return SystemFunction036(bytes, (unsigned long)count);
}
