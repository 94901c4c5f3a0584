// Stands for a real HIP runtime: only its name matters.
extern "C" __attribute__((visibility("default"))) int fake_amdhip_symbol(void) { return 1; }
