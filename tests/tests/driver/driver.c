// A CUDA driver that runs nothing: it keeps the order of calls in a file, one line per call, and holds callers to rules
// that a real driver may let pass. Memory is the host's; where a test asks for it by RUNGS_TEST_DRIVER_IPC, other
// processes can map it. Contexts and streams are numbered from 1 on, by address.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };
enum { INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_READY = 600, CAPTURE_UNSUPPORTED = 900 };

typedef struct { int alive, context, capturing; } Thing;
static Thing contexts[MOST], streams[MOST];
static int context_count, stream_count;
static Thing* capturing; // the stream that is captured, if there is one
static __thread Thing* current;

static void note(const char* what, const char* name, long number) {
    FILE* file = fopen(getenv("RUNGS_TEST_DRIVER_LOG"), "a");
    if (file == NULL) abort();
    fprintf(file, "%s %s %ld\n", what, name, number);
    fclose(file);
}

// A call that a captured stream does not allow, whichever stream it is for.
static int refused(const char* name) {
    if (capturing == NULL) return 0;
    note("forbidden", name, 0);
    return CAPTURE_UNSUPPORTED;
}
#define REFUSED_WHILE_CAPTURING(name) do { int why = refused(name); if (why != 0) return why; } while (0)

// The number of a live stream of the current context; 0 for one that is not. The default stream is number -1.
static long number(Thing* stream) {
    if (current == NULL || !current->alive) return 0;
    if (stream == NULL) return -1;
    return stream->alive && &contexts[stream->context] == current ? stream - streams : 0;
}
#define ON_STREAM(name, stream) do { \
    if (number(stream) == 0) { note("wrong stream", name, 0); return INVALID_HANDLE; } \
} while (0)

// What the test wants of the driver, or what it is otherwise.
static int wanted(const char* name, int otherwise) {
    const char* text = getenv(name);
    return text != NULL ? atoi(text) : otherwise;
}
int cuInit(unsigned flags) { (void)flags; return wanted("RUNGS_TEST_DRIVER_INIT", 0); }
int cuDriverGetVersion(int* version) { *version = wanted("RUNGS_TEST_DRIVER_VERSION", 13000); return 0; }
int cuGetErrorName(int code, const char** name) { (void)code; *name = "A_CODE"; return 0; }
int cuGetErrorString(int code, const char** text) { (void)code; *text = "of the driver that runs nothing"; return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return ordinal == 0 ? 0 : INVALID_VALUE; }
int cuDeviceGetName(char* name, int length, int device) { (void)device; snprintf(name, length, "nothing"); return 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { (void)device; *bytes = 1ul << 36; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;      // threads per block
    case 4: *value = 64; break;
    case 5: *value = INT32_MAX; break;                 // blocks of a grid
    case 6: case 7: *value = 65535; break;
    case 10: *value = 32; break;                       // lanes of a warp
    case 16: *value = 132; break;                      // multiprocessors
    case 75: *value = 9; break;                        // compute capability
    case 76: *value = 0; break;
    case 97: *value = 227 << 10; break;                // bytes of shared memory per block
    default: *value = 1;
    }
    return 0;
}

// Several threads may open the device.
static int locked;
static void lock(void) { while (__sync_lock_test_and_set(&locked, 1)) {} }
static void unlock(void) { __sync_lock_release(&locked); }

static int context(Thing** out) {
    if (++context_count == MOST) abort();
    contexts[context_count].alive = 1;
    *out = &contexts[context_count];
    return 0;
}
int cuCtxCreate_v2(Thing** out, unsigned flags, int device) {
    (void)flags; (void)device;
    context(out);
    current = *out;
    note("create", "context", *out - contexts);
    return 0;
}
int cuCtxDestroy_v2(Thing* context) {
    context->alive = 0;
    if (current == context) current = NULL;
    note("destroy", "context", context - contexts);
    return 0;
}
static Thing* primary;
static int holds;
int cuDevicePrimaryCtxRetain(Thing** out, int device) {
    (void)device;
    lock();
    if (holds++ == 0) context(&primary);
    unlock();
    *out = primary;
    note("retain", "context", primary - contexts);
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    lock();
    if (--holds == 0) primary->alive = 0;
    unlock();
    note("release", "context", primary - contexts);
    return 0;
}
int cuCtxGetCurrent(Thing** out) { *out = current; return 0; }
int cuCtxSetCurrent(Thing* context) {
    if (context != NULL && !context->alive) return INVALID_CONTEXT;
    current = context;
    return 0;
}
int cuCtxGetDevice(int* device) { *device = 0; return current != NULL ? 0 : INVALID_CONTEXT; }
int cuMemGetInfo_v2(size_t* rest, size_t* all) { *rest = *all = 1ul << 36; return 0; }

int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options, void** values) {
    (void)image; (void)count; (void)options; (void)values;
    REFUSED_WHILE_CAPTURING("cuModuleLoadDataEx");
    if (current == NULL) return INVALID_CONTEXT;
    *module = current;
    note("load", "module", current - contexts);
    return 0;
}
int cuModuleLoadData(void** module, const void* image) { return cuModuleLoadDataEx(module, image, 0, NULL, NULL); }
int cuModuleUnload(Thing* module) {
    // A module is unloaded in its context, while that lives.
    note(module == current && module->alive ? "unload" : "wrong context", "module", module - contexts);
    return 0;
}
int cuModuleGetFunction(char** function, void* module, const char* name) {
    (void)module;
    REFUSED_WHILE_CAPTURING("cuModuleGetFunction");
    *function = strdup(name);
    return 0;
}
int cuFuncGetAttribute(int* value, int attribute, void* function) {
    (void)function;
    REFUSED_WHILE_CAPTURING("cuFuncGetAttribute");
    *value = attribute == 0 ? 1024 : 0;
    return 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
    (void)function; (void)attribute; (void)value;
    REFUSED_WHILE_CAPTURING("cuFuncSetAttribute");
    return 0;
}

int cuLaunchKernel(const char* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Thing* stream, void** parameters, void** extra) {
    (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)parameters; (void)extra;
    ON_STREAM("cuLaunchKernel", stream);
    note("launch", function, number(stream));
    return 0;
}
typedef struct { unsigned id, padding; char value[64]; } Attribute;
typedef struct { unsigned grid[3], block[3], shared; Thing* stream; Attribute* attributes; unsigned count; } Config;
int cuLaunchKernelEx(const Config* config, const char* function, void** parameters, void** extra) {
    (void)parameters; (void)extra;
    ON_STREAM("cuLaunchKernelEx", config->stream);
    int dependent = config->count == 1 && config->attributes[0].id == 6;
    note(dependent ? "dependent" : "attributed", function, number(config->stream));
    return 0;
}

// Memory that others can map is a file without a name, which its owner's process shows under the file's number. A word
// before the memory counts those that have it mapped.
typedef struct { char* memory; size_t bytes; int file, opened; } Shared;
typedef struct { long process, file; size_t bytes; char rest[64 - 3 * sizeof(long)]; } Handle;
enum { HEAD = 4096 };
static Shared shared[MOST];
static Shared* shared_at(const char* memory) {
    for (Shared* at = shared; at < shared + MOST; at++) {
        if (at->memory == memory) return at;
    }
    return NULL;
}
static int* mappings(const char* memory) { return (int*)(memory - HEAD); }
static char* map(int file, size_t bytes) {
    char* all = mmap(NULL, HEAD + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (all == MAP_FAILED) abort();
    return all + HEAD;
}
static Shared* share(char* memory, size_t bytes, int file, int opened) {
    lock();
    Shared* at = shared_at(NULL);
    if (at == NULL) abort();
    *at = (Shared){memory, bytes, file, opened};
    unlock();
    return at;
}
int cuMemAlloc_v2(char** out, size_t bytes) {
    REFUSED_WHILE_CAPTURING("cuMemAlloc");
    if (getenv("RUNGS_TEST_DRIVER_IPC") == NULL) return posix_memalign((void**)out, 256, bytes);
    int file = memfd_create("memory", 0);
    if (file < 0 || ftruncate(file, HEAD + bytes) != 0) abort();
    *out = map(file, bytes);
    share(*out, bytes, file, 0);
    return 0;
}
int cuMemFree_v2(char* memory) {
    REFUSED_WHILE_CAPTURING("cuMemFree");
    if (getenv("RUNGS_TEST_DRIVER_IPC") == NULL) {
        free(memory);
        return 0;
    }
    Shared* at = shared_at(memory);
    if (at == NULL || at->opened) { note("wrong", "free", 0); return INVALID_VALUE; }
    if (__atomic_load_n(mappings(memory), __ATOMIC_SEQ_CST) != 0) note("wrong", "free of mapped memory", at->bytes);
    munmap(memory - HEAD, HEAD + at->bytes);
    close(at->file);
    at->memory = NULL;
    return 0;
}
int cuIpcGetMemHandle(Handle* handle, char* memory) {
    if (current == NULL) return INVALID_CONTEXT;
    Shared* at = memory == NULL ? NULL : shared_at(memory);
    if (at == NULL || at->opened) return INVALID_VALUE;
    *handle = (Handle){getpid(), at->file, at->bytes, {0}};
    return 0;
}
int cuIpcOpenMemHandle_v2(char** out, Handle handle, unsigned flags) {
    if (current == NULL || handle.process == getpid()) return INVALID_CONTEXT;
    char name[64];
    snprintf(name, sizeof name, "/proc/%ld/fd/%ld", handle.process, handle.file);
    // No peer has access where a test says so.
    int file = flags == 1 && getenv("RUNGS_TEST_DRIVER_APART") == NULL ? open(name, O_RDWR) : -1;
    if (file < 0) return INVALID_VALUE;
    *out = map(file, handle.bytes);
    close(file);
    share(*out, handle.bytes, -1, 1);
    __atomic_add_fetch(mappings(*out), 1, __ATOMIC_SEQ_CST);
    note("open", "memory", handle.bytes);
    return 0;
}
int cuIpcCloseMemHandle(char* memory) {
    Shared* at = memory == NULL ? NULL : shared_at(memory);
    if (current == NULL || at == NULL || !at->opened) { note("wrong", "close", 0); return INVALID_VALUE; }
    note("close", "memory", at->bytes);
    __atomic_sub_fetch(mappings(memory), 1, __ATOMIC_SEQ_CST);
    munmap(memory - HEAD, HEAD + at->bytes);
    at->memory = NULL;
    return 0;
}
int cuMemcpyHtoDAsync_v2(char* to, const char* from, size_t bytes, Thing* stream) {
    REFUSED_WHILE_CAPTURING("cuMemcpyHtoDAsync");
    ON_STREAM("cuMemcpyHtoDAsync", stream);
    memcpy(to, from, bytes);
    return 0;
}
int cuMemcpyDtoHAsync_v2(char* to, const char* from, size_t bytes, Thing* stream) {
    return cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}
int cuMemcpyDtoDAsync_v2(char* to, const char* from, size_t bytes, Thing* stream) {
    return cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}
int cuMemcpyHtoD_v2(char* to, const char* from, size_t bytes) { return cuMemcpyHtoDAsync_v2(to, from, bytes, NULL); }
int cuMemcpyDtoH_v2(char* to, const char* from, size_t bytes) { return cuMemcpyHtoDAsync_v2(to, from, bytes, NULL); }
int cuMemsetD8Async(char* to, unsigned char byte, size_t bytes, Thing* stream) {
    ON_STREAM("cuMemsetD8Async", stream);
    if (capturing == NULL) memset(to, byte, bytes);
    note("fill", "memory", number(stream));
    return 0;
}

int cuStreamCreateWithPriority(Thing** out, unsigned flags, int priority) {
    (void)flags; (void)priority;
    int stream = __sync_add_and_fetch(&stream_count, 1);
    if (stream >= MOST) abort();
    *out = &streams[stream];
    **out = (Thing){1, (int)(current - contexts), 0};
    note("create", "stream", stream);
    return 0;
}
int cuStreamDestroy_v2(Thing* stream) {
    stream->alive = 0;
    note(current == &contexts[stream->context] ? "destroy" : "wrong context", "stream", stream - streams);
    return 0;
}
int cuStreamSynchronize(Thing* stream) {
    REFUSED_WHILE_CAPTURING("cuStreamSynchronize");
    ON_STREAM("cuStreamSynchronize", stream);
    return 0;
}
// Work that never ends, where a test asks for it.
int cuStreamQuery(Thing* stream) {
    ON_STREAM("cuStreamQuery", stream);
    return getenv("RUNGS_TEST_DRIVER_PENDING") != NULL ? NOT_READY : 0;
}
// An event has the time at which it was recorded: nothing is ever pending.
int cuEventCreate(double** event, unsigned flags) {
    (void)flags;
    REFUSED_WHILE_CAPTURING("cuEventCreate");
    *event = calloc(1, sizeof **event);
    return 0;
}
int cuEventDestroy_v2(double* event) { free(event); return 0; }
int cuEventRecord(double* event, Thing* stream) {
    ON_STREAM("cuEventRecord", stream);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *event = now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
    return 0;
}
int cuEventSynchronize(double* event) { (void)event; REFUSED_WHILE_CAPTURING("cuEventSynchronize"); return 0; }
int cuEventElapsedTime(float* ms, double* from, double* to) { *ms = (float)(*to - *from); return 0; }
int cuStreamWaitEvent(Thing* stream, double* event, unsigned flags) {
    (void)event; (void)flags;
    ON_STREAM("cuStreamWaitEvent", stream);
    return 0;
}
int cuStreamIsCapturing(Thing* stream, int* status) {
    ON_STREAM("cuStreamIsCapturing", stream);
    *status = stream != NULL && stream->capturing;
    return 0;
}
int cuStreamBeginCapture_v2(Thing* stream, int mode) {
    (void)mode;
    ON_STREAM("cuStreamBeginCapture", stream);
    capturing = stream;
    stream->capturing = 1;
    note("begin", "capture", number(stream));
    return 0;
}
int cuStreamEndCapture(Thing* stream, void** graph) {
    stream->capturing = 0;
    capturing = NULL;
    *graph = stream;
    note("end", "capture", number(stream));
    return 0;
}
