/* verlc plugin ABI 1.0: the one contract between verlc and an engine, reward, tool, loss or advantage.
 *
 * A plugin is a shared object that exports exactly one symbol, verlc_plugin_open_v1, and carries an ELF note with its
 * id, version, ABI range and capabilities, which verlc reads before any code of the plugin runs. VERLC_PLUGIN() at
 * the end of this header writes both. C11 and C++ can include this file; it needs nothing but the C library headers.
 *
 * Rules, valid for every declaration below unless it says otherwise
 *   Platform   LP64, little-endian. Only fixed-width integers, doubles and pointers; no enum, bool, long or bit-field
 *              in a struct.
 *   Sizes      A table or struct that may grow starts with verlc_head; `size` is the number of bytes known to the
 *              side that owns the storage. Read a member newer than minor 0 only behind VERLC_HAS, and test a function
 *              pointer for NULL. Arrays of structs that may grow are arrays of pointers.
 *   Versions   The major is part of the entry symbol. A minor only appends members. A changed meaning gets a new id.
 *   Strings    verlc_string: UTF-8, counted, not terminated by NUL, borrowed for the call.
 *   Ownership  Inputs are borrowed for the call. Outputs are the caller's storage, or the callee's until the paired
 *              release function. Nothing is ever freed with the other side's allocator.
 *   Errors     Functions return verlc_status and describe a failure in the caller's verlc_error. A failed call has no
 *              effect, unless error->kind has VERLC_ERROR_DEAD: then the instance can only be destroyed. Nothing
 *              throws, exits or aborts across this boundary.
 *   Threads    One call at a time per instance, from any thread. Functions marked [any] may run concurrently.
 *              Callbacks and sinks run on the calling thread, during the call, and do not call back.
 *   Process    A plugin does not change signal handlers, locale, folder, environment, floating-point mode or standard
 *              streams. Memory, threads, communication and logging come from host services; a plugin starts no
 *              OpenMP team and links no MPI or NCCL.
 *   Lifetime   Services are valid from open until shutdown returns. A plugin is never unloaded.
 */
#ifndef VERLC_PLUGIN_H
#define VERLC_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus) && __cplusplus >= 201703L
#define VERLC_NOEXCEPT noexcept
#else
#define VERLC_NOEXCEPT
#endif

#ifdef __cplusplus
#define VERLC_EXTERN extern "C"
extern "C" {
#else
#define VERLC_EXTERN extern
#endif

#define VERLC_ABI_MAJOR 1u
#define VERLC_ABI_MINOR 0u

/* ---- Status --------------------------------------------------------------------------------------------------- */

/* 0 done, > 0 not finished, < 0 failed. An unknown negative value means VERLC_E_INTERNAL. */
typedef int32_t verlc_status;

enum {
  VERLC_OK = 0,
  VERLC_AGAIN = 1,           /* try later: queue full, nothing finished yet */
  VERLC_END = 2,             /* no more items */
  VERLC_E_ARGUMENT = -1,     /* the caller broke a rule of this header */
  VERLC_E_ABI = -2,          /* host and plugin do not fit */
  VERLC_E_UNSUPPORTED = -3,  /* valid, but this plugin cannot do it */
  VERLC_E_MEMORY_HOST = -4,
  VERLC_E_MEMORY_DEVICE = -5, /* the instance stays usable */
  VERLC_E_CANCELLED = -6,
  VERLC_E_DEADLINE = -7,
  VERLC_E_COMM = -8,
  VERLC_E_IO = -9,
  VERLC_E_NUMERIC = -10,     /* NaN or infinity where a number must be */
  VERLC_E_STATE = -11,       /* not allowed in the present state */
  VERLC_E_INTERNAL = -12,
  VERLC_E_CONFIG = -13       /* the configuration is wrong; the message names key, value, rule and fix */
};

/* Bits of verlc_error.kind. */
enum { VERLC_ERROR_RETRYABLE = 1, VERLC_ERROR_DEAD = 2 };

/* Parts of an engine's state, as a bit set. */
enum { VERLC_PART_PARAM = 1, VERLC_PART_GRAD = 2, VERLC_PART_OPTIMIZER = 4, VERLC_PART_KV = 8 };

/* Device types and data type codes have DLPack's values. */
enum { VERLC_DEVICE_CPU = 1, VERLC_DEVICE_CUDA = 2, VERLC_DEVICE_CUDA_HOST = 3 };
enum { VERLC_CODE_INT = 0, VERLC_CODE_UINT = 1, VERLC_CODE_FLOAT = 2, VERLC_CODE_BFLOAT = 4 };

/* ---- Frozen building blocks: may be embedded by value, never change ----------------------------------------------- */

typedef struct verlc_head {
  uint32_t size;  /* bytes known to the owner of the storage */
  uint32_t flags; /* 0 in this version */
} verlc_head;

#define VERLC_HEAD(Type) {(uint32_t)sizeof(Type), 0u}
#define VERLC_HAS(pointer, Type, member) \
  ((pointer)->head.size >= offsetof(Type, member) + sizeof((pointer)->member))

typedef struct verlc_string {
  const char *data;
  uint64_t size;
} verlc_string;

/* Layout of DLPack's DLTensor. Strides (in elements) are always filled in. */
typedef struct verlc_tensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} verlc_tensor;

/* Layout of DLPack's DLManagedTensorVersioned (1.x). Released exactly once, by its present owner, on any thread. */
typedef struct verlc_managed_tensor {
  uint32_t version_major;
  uint32_t version_minor;
  void *owner;
  void (*release)(struct verlc_managed_tensor *self) VERLC_NOEXCEPT;
  uint64_t flags;
  verlc_tensor tensor;
} verlc_managed_tensor;

/* A dense run of elements for a collective. */
typedef struct verlc_buffer {
  void *data;
  uint64_t count; /* elements */
  int32_t device_type;
  int32_t device_id;
  uint8_t code;
  uint8_t bits;
  uint16_t reserved0;
  uint32_t reserved1;
} verlc_buffer;

/* ---- Errors and sinks ------------------------------------------------------------------------------------------- */

/* The caller's storage; may be NULL in any call. */
typedef struct verlc_error {
  verlc_head head;
  verlc_status code;
  uint32_t kind; /* VERLC_ERROR_... bits */
  char message[1008];
} verlc_error;

/* Fills `error` (cut at its size) and returns `code`. */
static inline verlc_status verlc_fail(verlc_error *error, verlc_status code, const char *message) {
  uint64_t i = 0;
  if (error != NULL && VERLC_HAS(error, verlc_error, message)) {
    error->code = code;
    for (; message[i] != 0 && i + 1 < sizeof error->message; ++i) error->message[i] = message[i];
    error->message[i] = 0;
  }
  return code;
}

/* Takes bytes and copies them, so that there is nothing to free. `kind` is defined by the function that uses it. */
typedef verlc_status (*verlc_sink)(void *context, int32_t kind, verlc_string data) VERLC_NOEXCEPT;

/* ---- Handshake ---------------------------------------------------------------------------------------------------- */

/* What the host is. `service` [any] gives a service table by id ("verlc.log/1") or NULL. */
typedef struct verlc_host {
  verlc_head head;
  uint32_t abi_major;
  uint32_t abi_minor;
  void *self;
  verlc_string version;
  const void *(*service)(void *self, const char *id) VERLC_NOEXCEPT;
} verlc_host;

/* What the plugin is. Owned by the plugin, valid until shutdown. */
typedef struct verlc_plugin {
  verlc_head head;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t min_host_minor;
  uint32_t reserved;
  verlc_string id;
  verlc_string version;
  verlc_string build;
  void *self;
  /* [any] The capability table with this id ("verlc.train/1") or NULL. */
  const void *(*capability)(void *self, const char *id) VERLC_NOEXCEPT;
  /* Gives JSON about a capability to the sink, kind 0: {"config": JSON schema, "devices": [..], "dtypes": [..],
   * "deterministic": bool, "concurrent": bool}. Needs no configuration and reads no weights. */
  verlc_status (*describe)(void *self, const char *capability_id, verlc_sink sink, void *context,
                           verlc_error *error) VERLC_NOEXCEPT;
  /* Counted: one per successful open. Joins every thread of the plugin. */
  verlc_status (*shutdown)(void *self, verlc_error *error) VERLC_NOEXCEPT;
} verlc_plugin;

typedef verlc_status (*verlc_open_function)(const verlc_host *host, const verlc_plugin **out,
                                            verlc_error *error) VERLC_NOEXCEPT;

/* ---- Host services ------------------------------------------------------------------------------------------------ */

#define VERLC_SERVICE_LOG "verlc.log/1"
#define VERLC_SERVICE_MEMORY "verlc.memory/1"
#define VERLC_SERVICE_COMM "verlc.comm/1"
#define VERLC_SERVICE_METRICS "verlc.metrics/1"
#define VERLC_SERVICE_CANCEL "verlc.cancel/1"
#define VERLC_SERVICE_THREADS "verlc.threads/1"

/* [any] Levels: 0 debug, 1 info, 2 warning, 3 error. */
typedef struct verlc_log {
  verlc_head head;
  void *self;
  int32_t (*enabled)(void *self, int32_t level) VERLC_NOEXCEPT;
  void (*write)(void *self, int32_t level, verlc_string component, verlc_string message) VERLC_NOEXCEPT;
} verlc_log;

typedef struct verlc_memory_request {
  verlc_head head;
  uint64_t bytes;
  uint64_t alignment; /* a power of two, at most 4096; 0 = 64 */
  int32_t device_type;
  int32_t device_id;
  uint32_t category; /* from category() */
  uint32_t reserved;
  void *stream; /* 0 on a CPU device */
} verlc_memory_request;

/* [any] Every byte a plugin uses is allocated here, or accounted here when it came from elsewhere. A block carries
 * its category and the scope that was current on the allocating thread. */
typedef struct verlc_memory {
  verlc_head head;
  void *self;
  /* "param" "grad" "optimizer" "activation" "logits" "kv_cache" "comm" "work", or a name of the plugin's own. */
  uint32_t (*category)(void *self, const char *name) VERLC_NOEXCEPT;
  verlc_status (*allocate)(void *self, const verlc_memory_request *request, void **out,
                           verlc_error *error) VERLC_NOEXCEPT;
  /* `request` as at allocation (bytes, device and category are used). */
  void (*release)(void *self, void *pointer, const verlc_memory_request *request) VERLC_NOEXCEPT;
  void (*account)(void *self, uint32_t category, int32_t device_type, int32_t device_id,
                  int64_t delta_bytes) VERLC_NOEXCEPT;
  /* limit = UINT64_MAX when there is none. */
  void (*budget)(void *self, int32_t device_type, int32_t device_id, uint64_t *limit, uint64_t *used) VERLC_NOEXCEPT;
  /* Nested names of what this thread is doing: "layer.3", "attention". */
  void (*scope_push)(void *self, verlc_string name) VERLC_NOEXCEPT;
  void (*scope_pop)(void *self) VERLC_NOEXCEPT;
} verlc_memory;

/* A process group; owned by the host, or by the plugin when it came from split() (then drop() it). */
typedef struct verlc_comm verlc_comm;

enum { VERLC_REDUCE_SUM = 0, VERLC_REDUCE_MAX = 1, VERLC_REDUCE_MIN = 2 };

/* Collectives: every rank of the group calls, in the same order, also with zero elements. `request` NULL = complete
 * on return; otherwise *request is waited for with wait(), and the buffers stay untouched until then. Sums are made
 * in rank order, so their bits do not depend on timing. `stream` is 0 on a CPU device. */
typedef struct verlc_comm_service {
  verlc_head head;
  void *self;
  int32_t (*rank)(const verlc_comm *group) VERLC_NOEXCEPT;
  int32_t (*size)(const verlc_comm *group) VERLC_NOEXCEPT;
  /* Ranks with equal color form a group, ordered by key. Collective over `group`. */
  verlc_status (*split)(verlc_comm *group, int32_t color, int32_t key, verlc_comm **out,
                        verlc_error *error) VERLC_NOEXCEPT;
  void (*drop)(verlc_comm *group) VERLC_NOEXCEPT;
  verlc_status (*barrier)(verlc_comm *group, verlc_error *error) VERLC_NOEXCEPT;
  /* in and out have equal counts; out may be in. */
  verlc_status (*all_reduce)(verlc_comm *group, const verlc_buffer *in, verlc_buffer *out, int32_t op, void *stream,
                             uint64_t *request, verlc_error *error) VERLC_NOEXCEPT;
  /* in: size * out->count elements; rank r gets the reduced r-th part. */
  verlc_status (*reduce_scatter)(verlc_comm *group, const verlc_buffer *in, verlc_buffer *out, int32_t op,
                                 void *stream, uint64_t *request, verlc_error *error) VERLC_NOEXCEPT;
  /* out: size * in->count elements, rank by rank. */
  verlc_status (*all_gather)(verlc_comm *group, const verlc_buffer *in, verlc_buffer *out, void *stream,
                             uint64_t *request, verlc_error *error) VERLC_NOEXCEPT;
  /* send_counts, receive_counts: elements per rank, `size` of each; parts are dense and in rank order. */
  verlc_status (*all_to_all)(verlc_comm *group, const verlc_buffer *in, const int64_t *send_counts, verlc_buffer *out,
                             const int64_t *receive_counts, void *stream, uint64_t *request,
                             verlc_error *error) VERLC_NOEXCEPT;
  verlc_status (*broadcast)(verlc_comm *group, verlc_buffer *buffer, int32_t root, void *stream, uint64_t *request,
                            verlc_error *error) VERLC_NOEXCEPT;
  verlc_status (*send)(verlc_comm *group, const verlc_buffer *buffer, int32_t peer, int32_t tag, void *stream,
                       uint64_t *request, verlc_error *error) VERLC_NOEXCEPT;
  verlc_status (*receive)(verlc_comm *group, verlc_buffer *buffer, int32_t peer, int32_t tag, void *stream,
                          uint64_t *request, verlc_error *error) VERLC_NOEXCEPT;
  /* timeout_ns < 0 = the host's own limit, which names rank, phase and operation when it is reached. */
  verlc_status (*wait)(verlc_comm *group, uint64_t request, int64_t timeout_ns, verlc_error *error) VERLC_NOEXCEPT;
} verlc_comm_service;

/* [any] Kinds of reduction over micro-batches and ranks: 0 sum, 1 mean, 2 min, 3 max, 4 last. */
typedef struct verlc_metrics {
  verlc_head head;
  void *self;
  uint32_t (*intern)(void *self, verlc_string name, int32_t reduction) VERLC_NOEXCEPT;
  void (*put)(void *self, uint32_t id, double value) VERLC_NOEXCEPT;
} verlc_metrics;

/* [any] Poll at least once per micro-batch, decode step or tool call; when it is not 0 return VERLC_E_CANCELLED. */
typedef struct verlc_cancel {
  verlc_head head;
  void *self;
  int32_t (*requested)(void *self, uint64_t scope) VERLC_NOEXCEPT;
  int64_t (*deadline_ns)(void *self, uint64_t scope) VERLC_NOEXCEPT; /* CLOCK_MONOTONIC; INT64_MAX = none */
} verlc_cancel;

/* The whole thread budget of the plugin is this team. */
typedef struct verlc_threads {
  verlc_head head;
  void *self;
  int32_t (*count)(void *self) VERLC_NOEXCEPT; /* [any] the caller included, >= 1 */
  /* Calls task(argument, i) once for each i in [0, n), on any thread of the team, and returns when all are done.
   * A task does not call run(). */
  void (*run)(void *self, int32_t n, void (*task)(void *argument, int32_t i) VERLC_NOEXCEPT,
              void *argument) VERLC_NOEXCEPT;
} verlc_threads;

/* ---- Shared by the engine capabilities ------------------------------------------------------------------------------ */

/* Groups are NULL where that kind of parallelism is not in use; world and dp never are. Owned by the host. */
typedef struct verlc_topology {
  verlc_head head;
  verlc_comm *world;
  verlc_comm *dp;
  verlc_comm *tp;
  verlc_comm *pp;
  verlc_comm *cp;
  verlc_comm *ep;
  int32_t device_type;
  int32_t device_id;
} verlc_topology;

/* A weight, or a shard of one, under its Hugging Face name. */
typedef struct verlc_named_tensor {
  verlc_head head;
  verlc_string name;
  verlc_managed_tensor *tensor;
  void *ready_stream; /* the producer's stream on which the data is ready; 0 = already complete */
  int64_t full_ndim;  /* 0 = tensor is the whole weight; otherwise it is the part at shard_offset of full_shape */
  const int64_t *full_shape;
  const int64_t *shard_offset;
} verlc_named_tensor;

typedef struct verlc_memory_stat {
  verlc_head head;
  uint32_t category;
  uint32_t reserved;
  int32_t device_type;
  int32_t device_id;
  uint64_t bytes_now;
  uint64_t bytes_peak;
} verlc_memory_stat;

/* ---- verlc.train/1: a differentiable log-prob oracle ------------------------------------------------------------------ */

#define VERLC_CAPABILITY_TRAIN "verlc.train/1"

/* Sequences packed without padding. T = tokens, S = sequences of this rank; both may be 0.
 *
 * Names in `extra`; an engine is sent only those that its describe() lists in "extra" (array of strings):
 *   "shared_prefix"  int32 [S, 2]: of each sequence its group (>= 0, or -1 = none) and how many leading tokens it has
 *                    in common with all other sequences of that group in this batch: the same number, tokens and
 *                    positions. A hint: an engine may compute those tokens once for neighbouring sequences of a
 *                    group. Every array here, of forward_logp and of the loss keeps the layout of the batch. */
typedef struct verlc_batch {
  verlc_head head;
  const verlc_tensor *tokens;      /* int32 [T] */
  const verlc_tensor *positions;   /* int32 [T], or [3, T] */
  const verlc_tensor *cu_seqlens;  /* int32 [S + 1], from 0 to T */
  const verlc_tensor *loss_mask;   /* uint8 [T]; log-probs are computed where it is not 0. A first token has 0 */
  const verlc_tensor *temperature; /* float32 [S], > 0; NULL = 1 for all */
  const verlc_named_tensor *const *extra; /* named inputs, see above */
  uint64_t num_extra;
  uint64_t micro_batch_sequences; /* at most this many sequences in a micro-batch; 0 = no limit */
  uint64_t micro_batch_tokens;    /* at most this many tokens (a longer sequence is alone); 0 = no limit */
  uint64_t cancel_scope;
} verlc_batch;

/* One micro-batch inside the loss callback: the run of sequences [sequence_begin, + sequence_count) of the batch.
 * Per-token arrays are float32 [token_count]; entry i belongs to token token_begin + i of the batch and holds the
 * log-prob of that token given the ones before it (from the logits of the previous position, at the sequence's
 * temperature); 0 where loss_mask is 0. */
typedef struct verlc_micro_batch {
  verlc_head head;
  uint64_t index;
  uint64_t sequence_begin;
  uint64_t sequence_count;
  uint64_t token_begin;
  uint64_t token_count;
  const float *logp;
  const float *entropy; /* NULL when the engine was not asked for it */
  const float *value;   /* NULL for a language model */
  float *d_logp;    /* out: d loss / d logp, already divided by the GLOBAL normaliser; preset to 0 */
  float *d_entropy; /* out; NULL when entropy is NULL */
  float *d_value;   /* out; NULL when value is NULL */
  double loss;      /* out: this micro-batch's part of the loss, already divided likewise */
  void *stream;
} verlc_micro_batch;

/* Called once per micro-batch, in order, on the thread of forward_backward. A failure ends forward_backward. */
typedef verlc_status (*verlc_loss_callback)(void *context, verlc_micro_batch *micro_batch,
                                            verlc_error *error) VERLC_NOEXCEPT;

typedef struct verlc_optimizer_step {
  verlc_head head;
  double lr;
  double clip_grad;     /* global norm limit; <= 0 = none */
  double out_grad_norm; /* out: norm before clipping, over all ranks */
  int32_t out_skipped;  /* out: 1 when the norm was not finite and nothing was updated */
  int32_t reserved;
} verlc_optimizer_step;

typedef struct verlc_train verlc_train;

/* Calls are collective over topology->dp unless marked [local]. */
typedef struct verlc_train_api {
  verlc_head head;
  void *self;
  /* config: JSON object after the schema of describe(). Reads the weights. */
  verlc_status (*create)(void *self, verlc_string config, const verlc_topology *topology, verlc_train **out,
                         verlc_error *error) VERLC_NOEXCEPT;
  void (*destroy)(verlc_train *train) VERLC_NOEXCEPT; /* [local] */
  /* [local] Bytes by category and phase for config and workload (JSON: {"ranks", "tokens", "sequences", "longest",
   * "shared": tokens that repeat a shared prefix}), as JSON to the sink, kind 0:
   * {"phases": {"forward_backward": {"param": n, ..}, ..}}. Reads config.json only. */
  verlc_status (*estimate)(void *self, verlc_string config, verlc_string workload, verlc_sink sink, void *context,
                           verlc_error *error) VERLC_NOEXCEPT;
  /* logp, entropy, value: caller's float32 [T]; entropy and value may be NULL = not wanted. 0 where not in the mask. */
  verlc_status (*forward_logp)(verlc_train *train, const verlc_batch *batch, float *logp, float *entropy,
                               float *value, verlc_error *error) VERLC_NOEXCEPT;
  /* Adds gradients. need_entropy: ask for entropy (and its gradient). loss_sum: sum of micro_batch->loss, this rank. */
  verlc_status (*forward_backward)(verlc_train *train, const verlc_batch *batch, int32_t need_entropy,
                                   verlc_loss_callback loss, void *context, double *loss_sum,
                                   verlc_error *error) VERLC_NOEXCEPT;
  /* Reduces the gradient norm, clips, updates, clears the gradients. The only call that clears them but zero_grad. */
  verlc_status (*optimizer_step)(verlc_train *train, verlc_optimizer_step *step, verlc_error *error) VERLC_NOEXCEPT;
  verlc_status (*zero_grad)(verlc_train *train, verlc_error *error) VERLC_NOEXCEPT;
  /* parts: VERLC_PART_... bits. Moves state to host memory and back; nothing to do on a CPU device. */
  verlc_status (*offload)(verlc_train *train, uint32_t parts, verlc_error *error) VERLC_NOEXCEPT;
  verlc_status (*onload)(verlc_train *train, uint32_t parts, verlc_error *error) VERLC_NOEXCEPT;
  /* Whole weights in bucket after bucket of at most bucket_bytes (a larger weight is alone), each exactly once. */
  verlc_status (*export_begin)(verlc_train *train, uint64_t bucket_bytes, verlc_error *error) VERLC_NOEXCEPT;
  /* Fills up to `capacity` pointers with the engine's structs; VERLC_END after the last bucket. The caller releases
   * every tensor; the structs stay valid until the next export call. */
  verlc_status (*export_next)(verlc_train *train, const verlc_named_tensor **out, uint32_t capacity, uint32_t *count,
                              verlc_error *error) VERLC_NOEXCEPT;
  /* Writes this rank's files below the existing folder `dir`, fsynced. load() accepts a save of any number of ranks. */
  verlc_status (*save)(verlc_train *train, verlc_string dir, uint32_t parts, verlc_error *error) VERLC_NOEXCEPT;
  verlc_status (*load)(verlc_train *train, verlc_string dir, uint32_t parts, verlc_error *error) VERLC_NOEXCEPT;
  /* [local] */
  verlc_status (*memory_stats)(verlc_train *train, verlc_memory_stat *const *out, uint32_t capacity, uint32_t *count,
                               verlc_error *error) VERLC_NOEXCEPT;
} verlc_train_api;

/* ---- verlc.rollout/1 ---------------------------------------------------------------------------------------------------- */

#define VERLC_CAPABILITY_ROLLOUT "verlc.rollout/1"

enum {
  VERLC_FINISH_STOP = 0,    /* an end-of-sequence id or a stop string; the id is the last token */
  VERLC_FINISH_LENGTH = 1,  /* max_new_tokens or the model's length */
  VERLC_FINISH_ABORTED = 2,
  VERLC_FINISH_ERROR = 3
};

typedef struct verlc_sampling {
  verlc_head head;
  double temperature; /* 0 = greedy (log-probs are then those at temperature 1) */
  double top_p;       /* (0, 1]; 1 = off */
  double min_p;       /* [0, 1); 0 = off */
  double repetition_penalty; /* > 0; 1 = off */
  int64_t top_k;             /* <= 0 = off */
  int64_t max_new_tokens;
  int64_t min_new_tokens; /* end-of-sequence ids are not sampled before */
  const int32_t *stop_ids; /* beside the model's own */
  uint64_t num_stop_ids;
  const verlc_string *stop_strings;
  uint64_t num_stop_strings;
  int32_t ignore_eos;
  int32_t reserved;
} verlc_sampling;

typedef struct verlc_request {
  verlc_head head;
  uint64_t id;     /* unique among the unfinished ones */
  uint64_t seed;   /* the tokens are a function of weights, prompt, sampling and seed alone */
  uint64_t prefix; /* not 0: requests with this value have the same prompt and share its pages */
  const int32_t *prompt;
  uint64_t num_prompt;
  const verlc_sampling *sampling;
  int64_t priority; /* larger first, then in order of submission */
  uint64_t cancel_scope;
} verlc_request;

/* tokens and logp belong to the engine until release(). */
typedef struct verlc_completion {
  verlc_head head;
  uint64_t id;
  uint64_t weights_first; /* versions of the weights that made the first and the last token */
  uint64_t weights_last;
  uint64_t num_tokens;
  const int32_t *tokens; /* [num_tokens], without the prompt, with the stop id */
  const float *logp;     /* [num_tokens], of the sampled token under softmax(logits / temperature) */
  int32_t finish;        /* VERLC_FINISH_... */
  int32_t reserved;
  void *engine_data;
} verlc_completion;

typedef struct verlc_rollout verlc_rollout;

/* Calls concern this rank only, except create (collective over topology->tp when there is one). */
typedef struct verlc_rollout_api {
  verlc_head head;
  void *self;
  verlc_status (*create)(void *self, verlc_string config, const verlc_topology *topology, verlc_rollout **out,
                         verlc_error *error) VERLC_NOEXCEPT;
  void (*destroy)(verlc_rollout *rollout) VERLC_NOEXCEPT;
  verlc_status (*estimate)(void *self, verlc_string config, verlc_string workload, verlc_sink sink, void *context,
                           verlc_error *error) VERLC_NOEXCEPT;
  /* [any] Copies. Takes the first *accepted requests; VERLC_AGAIN = the queue is full. Each accepted id yields exactly
   * one completion. */
  verlc_status (*submit)(verlc_rollout *rollout, const verlc_request *const *requests, uint32_t count,
                         uint32_t *accepted, verlc_error *error) VERLC_NOEXCEPT;
  /* Generates until something has finished or the time is over (timeout_ns < 0 = no limit); VERLC_END = nothing is
   * queued or running. */
  verlc_status (*poll)(verlc_rollout *rollout, verlc_completion *const *out, uint32_t capacity, uint32_t *count,
                       int64_t timeout_ns, verlc_error *error) VERLC_NOEXCEPT;
  void (*release)(verlc_rollout *rollout, verlc_completion *const *completions, uint32_t count) VERLC_NOEXCEPT;
  /* [any] An aborted request still yields its completion. Unknown ids are ignored. */
  verlc_status (*abort)(verlc_rollout *rollout, const uint64_t *ids, uint32_t count,
                        verlc_error *error) VERLC_NOEXCEPT;
  /* Weights: begin, parts in any number and order, end. Unfinished requests: keep_inflight 0 = refused with
   * VERLC_E_STATE, 1 = continue under the new version after their cache is recomputed. */
  verlc_status (*update_begin)(verlc_rollout *rollout, uint64_t version, int32_t keep_inflight,
                               verlc_error *error) VERLC_NOEXCEPT;
  /* Copies; the caller keeps the tensors. Every weight exactly once between begin and end. */
  verlc_status (*update_part)(verlc_rollout *rollout, const verlc_named_tensor *const *weights, uint32_t count,
                              verlc_error *error) VERLC_NOEXCEPT;
  /* commit 0 = drop the parts and keep the old weights (VERLC_E_STATE when sleep dropped them). */
  verlc_status (*update_end)(verlc_rollout *rollout, int32_t commit, verlc_error *error) VERLC_NOEXCEPT;
  /* Digest of the weights as held now, 32 hexadecimal digits to the sink, kind 0: see plugin.hpp, weights digest. */
  verlc_status (*digest)(verlc_rollout *rollout, verlc_sink sink, void *context, verlc_error *error) VERLC_NOEXCEPT;
  /* parts: PARAM drops the weights, KV the cache. wake(PARAM) makes room for an update, wake(KV) serves again. */
  verlc_status (*sleep)(verlc_rollout *rollout, uint32_t parts, verlc_error *error) VERLC_NOEXCEPT;
  verlc_status (*wake)(verlc_rollout *rollout, uint32_t parts, verlc_error *error) VERLC_NOEXCEPT;
  verlc_status (*memory_stats)(verlc_rollout *rollout, verlc_memory_stat *const *out, uint32_t capacity,
                               uint32_t *count, verlc_error *error) VERLC_NOEXCEPT;
} verlc_rollout_api;

/* ---- verlc.reward/1 ------------------------------------------------------------------------------------------------------- */

#define VERLC_CAPABILITY_REWARD "verlc.reward/1"

typedef struct verlc_sample {
  verlc_head head;
  uint64_t uid;   /* of the sample */
  uint64_t group; /* of its prompt */
  const int32_t *tokens;
  uint64_t num_tokens;
  verlc_string data_source;
  verlc_string prompt;
  verlc_string response;
  verlc_string reference; /* JSON: the row's reward_model.ground_truth, verbatim */
  verlc_string extra;     /* JSON: the row's extra_info, or empty */
} verlc_sample;

typedef struct verlc_score {
  verlc_head head;
  double reward;
  int32_t ok;     /* 1 = reward is valid; 0 = this sample could not be scored, see message */
  int32_t reserved;
  char message[240];
} verlc_score;

typedef struct verlc_reward verlc_reward;

typedef struct verlc_reward_api {
  verlc_head head;
  void *self;
  verlc_status (*create)(void *self, verlc_string config, verlc_reward **out, verlc_error *error) VERLC_NOEXCEPT;
  void (*destroy)(verlc_reward *reward) VERLC_NOEXCEPT;
  /* scores: the caller's storage, one per sample. The result for a sample does not depend on the others. */
  verlc_status (*score)(verlc_reward *reward, const verlc_sample *const *samples, uint32_t count,
                        verlc_score *const *scores, uint64_t cancel_scope, verlc_error *error) VERLC_NOEXCEPT;
} verlc_reward_api;

/* Reserved ids; their tables come with a later minor. */
#define VERLC_CAPABILITY_LOSS "verlc.loss/1"
#define VERLC_CAPABILITY_ADVANTAGE "verlc.advantage/1"
#define VERLC_CAPABILITY_TOOL "verlc.tool/1"
#define VERLC_CAPABILITY_ENVIRONMENT "verlc.env/1"

/* ---- Author's side: the note and the one exported symbol, once per shared object --------------------------------------- */

#define VERLC_NOTE_TYPE 0x56504331u

/* ELF note, name "verlc"; strings are terminated by NUL. capabilities: ids separated by spaces. */
typedef struct verlc_note {
  uint32_t name_size;
  uint32_t descriptor_size;
  uint32_t type;
  char name[8];
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t min_host_minor;
  uint32_t reserved;
  char id[64];
  char version[32];
  char capabilities[128];
} verlc_note;

/* VERLC_PLUGIN("my-reward", "1.2", VERLC_CAPABILITY_REWARD, 0, my_open) where my_open is a verlc_open_function. */
#define VERLC_PLUGIN(id_, version_, capabilities_, min_host_minor_, open_)                                             \
  __attribute__((used, section(".note.verlc"), aligned(4))) static const verlc_note verlc_note_of_this_plugin = {      \
      6u,  (uint32_t)(sizeof(verlc_note) - offsetof(verlc_note, abi_major)),                                           \
      VERLC_NOTE_TYPE, "verlc", VERLC_ABI_MAJOR, VERLC_ABI_MINOR, (min_host_minor_), 0u, id_, version_, capabilities_}; \
  VERLC_EXTERN __attribute__((visibility("default"))) verlc_status verlc_plugin_open_v1(                               \
      const verlc_host *host, const verlc_plugin **out, verlc_error *error) VERLC_NOEXCEPT {                           \
    if (host == NULL || out == NULL || !VERLC_HAS(host, verlc_host, service) || host->abi_major != VERLC_ABI_MAJOR ||  \
        (int64_t)host->abi_minor < (int64_t)(min_host_minor_))                                                         \
      return verlc_fail(error, VERLC_E_ABI, "the host's ABI is outside the range of this plugin");                     \
    return open_(host, out, error);                                                                                    \
  }

#ifdef __cplusplus
}
#endif

#endif /* VERLC_PLUGIN_H */
