// An NCCL for two threads of one process, whose devices' memory is the host's. RUNGS_TEST_NCCL says how it fails: "old"
// is an old version, "nameless" makes no identifier, "hang" never lets a rank join, "lost" finds that the other rank is
// gone when it is asked.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6, IN_PROGRESS = 7 };
enum { RANKS = 2, MOST = 16, POLLS = 3 };

typedef struct { int rank, polls, exchanged; } Comm;
typedef struct { char bytes[128]; } Id;
typedef struct { size_t size; unsigned magic, version; int blocking, undefined; } Config;
typedef struct { int is_send, peer; char* memory; size_t bytes; Comm* comm; } Call;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct { const char* memory; size_t bytes; int full; } boxes[RANKS][RANKS]; // by sender and receiver
static __thread Call calls[MOST];
static __thread int call_count, depth;

static int is(const char* mode) {
    const char* set = getenv("RUNGS_TEST_NCCL");
    return set != NULL && strcmp(set, mode) == 0;
}

int ncclGetVersion(int* version) { *version = is("old") ? 21003 : 22809; return SUCCESS; }
const char* ncclGetErrorString(int code) { return code == REMOTE_ERROR ? "remote process exited" : "an error"; }
int ncclGetUniqueId(Id* id) {
    memset(id->bytes, 7, sizeof id->bytes);
    return is("nameless") ? REMOTE_ERROR : SUCCESS;
}

int ncclCommInitRankConfig(Comm** comm, int size, Id id, int rank, Config* config) {
    const char* multicast = getenv("NCCL_NVLS_ENABLE");
    if (multicast == NULL || strcmp(multicast, "0") != 0) return INVALID_USAGE;
    if (size != RANKS || id.bytes[0] != 7 || id.bytes[127] != 7) return INVALID_ARGUMENT;
    if (config->size != sizeof *config || config->magic != 0xcafebeef || config->blocking != 0) return INVALID_ARGUMENT;
    *comm = calloc(1, sizeof **comm);
    **comm = (Comm){rank, POLLS, 0};
    return IN_PROGRESS;
}
int ncclCommGetAsyncError(Comm* comm, int* state) {
    if (is("lost") && comm->exchanged) *state = REMOTE_ERROR;
    else *state = is("hang") || comm->polls-- > 0 ? IN_PROGRESS : SUCCESS;
    return SUCCESS;
}
int ncclCommFinalize(Comm* comm) { comm->polls = POLLS; return IN_PROGRESS; }
int ncclCommDestroy(Comm* comm) { free(comm); return SUCCESS; }
int ncclCommAbort(Comm* comm) { free(comm); return SUCCESS; }

int ncclGroupStart(void) { depth++; return SUCCESS; }
static int add(Call call, int type) {
    if (depth == 0 || type != 1 || call_count == MOST) return INVALID_USAGE;
    calls[call_count++] = call;
    return is("busy") ? IN_PROGRESS : SUCCESS; // both are right for what is only noted
}
int ncclSend(const void* memory, size_t bytes, int type, int peer, Comm* comm, void* stream) {
    (void)stream;
    return add((Call){1, peer, (char*)memory, bytes, comm}, type);
}
int ncclRecv(void* memory, size_t bytes, int type, int peer, Comm* comm, void* stream) {
    (void)stream;
    return add((Call){0, peer, memory, bytes, comm}, type);
}
int ncclGroupEnd(void) {
    depth--;
    int result = SUCCESS;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < call_count; i++) {
        Call call = calls[i];
        if (!call.is_send) continue;
        boxes[call.comm->rank][call.peer].memory = call.memory;
        boxes[call.comm->rank][call.peer].bytes = call.bytes;
        boxes[call.comm->rank][call.peer].full = 1;
        pthread_cond_broadcast(&changed);
    }
    for (int i = 0; i < call_count; i++) {
        Call call = calls[i];
        call.comm->exchanged = 1;
        if (call.is_send) continue;
        int from = call.peer, to = call.comm->rank;
        while (!boxes[from][to].full) pthread_cond_wait(&changed, &lock);
        if (boxes[from][to].bytes != call.bytes) result = INVALID_ARGUMENT;
        else memcpy(call.memory, boxes[from][to].memory, call.bytes);
        boxes[from][to].full = 0;
        pthread_cond_broadcast(&changed);
    }
    for (int i = 0; i < call_count; i++) {
        // A sender waits until its memory was read.
        while (calls[i].is_send && boxes[calls[i].comm->rank][calls[i].peer].full) pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    call_count = 0;
    return result;
}
