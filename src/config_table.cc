// Every setting of the library, one row each. docs/settings.md is made from this table
// (tests/unit/settings_doc_test.cc). A new setting is a row here and a member of Config or
// LogConfig, whose initialiser is the default.
#include "config_table.h"

#include "config_parse.h"

namespace weft {

namespace {

constexpr int64_t kMostChannels = 128;         // RCCL's MAXCHANNELS
constexpr int64_t kMaxThreads = 1024;          // a block on every GPU we know
constexpr int64_t kWave = 64;                  // the widest wave; RCCL asks for the same multiple
constexpr int64_t kMinBufferBytes = 64 << 10;  // room for a few slices of a few KiB
constexpr int64_t kMaxBufferBytes = 1 << 30;
constexpr int64_t kPageBytes = 4096;
constexpr int64_t kMaxWaitMs = 7 * 24 * 3600 * 1000;
constexpr int64_t kMinInitMs = 100;  // less would fail on scheduling alone

const Setting kSettings[] = {
    // Bootstrap and host identity.
    {.name = "NCCL_COMM_ID",
     .field = &Config::comm_id,
     .scope = Scope::kAllRanks,
     .allowed = "host:port, ipv4:port or [ipv6]:port",
     .check = is_host_and_port,
     .help =
         "Fixed meeting place: rank 0 listens there and the unique id names it. Not authenticated "
         "unless WEFT_SECRET_FILE is set."},
    {.name = "WEFT_SECRET_FILE",
     .field = &Config::secret_file,
     .scope = Scope::kCommunicator,
     .allowed = "path of a file",
     .help = "File with the key that authenticates ranks which meet through NCCL_COMM_ID; the same "
             "contents on every host."},
    {.name = "NCCL_SOCKET_IFNAME",
     .field = &Config::socket_ifname,
     .scope = Scope::kCommunicator,
     .allowed = "[^][=]name,name,...",
     .help = "Network interfaces to use, by prefix; '=' matches whole names, '^' excludes."},
    {.name = "NCCL_SOCKET_FAMILY",
     .field = &Config::socket_family,
     .scope = Scope::kCommunicator,
     .allowed = "AF_INET or AF_INET6",
     .check = is_socket_family,
     .help = "Address family of the sockets. Not set: both."},
    {.name = "NCCL_HOSTID",
     .field = &Config::host_id,
     .scope = Scope::kCommunicator,
     .allowed = "any text",
     .help =
         "Identity of the host, in place of its boot id. Ranks of equal identity share memory."},
    {.name = "WEFT_PORT_RANGE",
     .field = &Config::port_range,
     .scope = Scope::kCommunicator,
     .allowed = "first-last, 1 to 65535",
     .check = is_port_range,
     .help = "Ports that listening sockets may take. Not set: the system chooses."},
    {.name = "WEFT_INIT_TIMEOUT",
     .field = &Config::init_timeout,
     .scope = Scope::kCommunicator,
     .min = kMinInitMs,
     .max = kMaxWaitMs,
     .help =
         "Longest wait of an initialisation for its other ranks, which may start that much later. "
         "Never endless: 0 is refused."},
    {.name = "WEFT_TIMEOUT",
     .field = &Config::op_timeout,
     .scope = Scope::kCommunicator,
     .max = kMaxWaitMs,
     .help = "Longest time an operation may wait for its peers before it ends with an error. "
             "0: until aborted."},
    // Communicator.
    {.name = "NCCL_COMM_BLOCKING",
     .field = &Config::blocking,
     .scope = Scope::kCommunicator,
     .max = 1,
     .help = "Overrides the configuration's blocking: 1 calls return when done, 0 at once."},
    {.name = "NCCL_MIN_NCHANNELS",
     .alias = "NCCL_MIN_NRINGS",
     .field = &Config::min_channels,
     .scope = Scope::kAllRanks,
     .min = 1,
     .max = kMostChannels,
     .out_of_range = OutOfRange::kClamp,
     .help = "Fewest channels (blocks) of a large operation."},
    {.name = "NCCL_MAX_NCHANNELS",
     .alias = "NCCL_MAX_NRINGS",
     .field = &Config::max_channels,
     .scope = Scope::kAllRanks,
     .min = 1,
     .max = kMostChannels,
     .out_of_range = OutOfRange::kClamp,
     .help = "Most channels (blocks) of an operation."},
    {.name = "NCCL_MIN_CTAS",
     .field = &Config::min_ctas,
     .scope = Scope::kAllRanks,
     .min = 1,
     .max = kMostChannels,
     .out_of_range = OutOfRange::kClamp,
     .help = "Overrides the configuration's minCTAs."},
    {.name = "NCCL_MAX_CTAS",
     .field = &Config::max_ctas,
     .scope = Scope::kAllRanks,
     .min = 1,
     .max = kMostChannels,
     .out_of_range = OutOfRange::kClamp,
     .help = "Overrides the configuration's maxCTAs."},
    {.name = "NCCL_NTHREADS",
     .field = &Config::threads,
     .scope = Scope::kAllRanks,
     .min = kWave,
     .max = kMaxThreads,
     .multiple = kWave,
     .out_of_range = OutOfRange::kClamp,
     .help = "Threads of a block."},
    {.name = "NCCL_BUFFSIZE",
     .field = &Config::buffer_bytes,
     .scope = Scope::kAllRanks,
     .min = kMinBufferBytes,
     .max = kMaxBufferBytes,
     .multiple = kPageBytes,
     .out_of_range = OutOfRange::kClamp,
     .help = "Bytes of one peer's Simple buffer, all channels together. K, M and G may follow."},
    {.name = "WEFT_ZERO_COPY",
     .field = &Config::zero_copy_bytes,
     .scope = Scope::kAllRanks,
     .max = std::numeric_limits<int64_t>::max(),
     .help = "Bytes from which on ranks read and write each other's buffers, where every rank "
             "reaches them: of a message, or of what a rank gives to one other. 0: never. K, M and "
             "G may follow."},
    {.name = "WEFT_COST_FILE",
     .field = &Config::cost_file,
     .scope = Scope::kCommunicator,
     .allowed = "path of a file",
     .help = "What operations cost on this machine, as weft-perf calibrate writes it: algorithms, "
             "protocols and numbers of blocks are chosen by it. Rank 0 reads it, all ranks use it. "
             "Not used on another kind of device, with a warning, nor by communicators of another "
             "number of ranks. Not set: figures that are built in."},
    {.name = "NCCL_ALGO",
     .field = &Config::algo,
     .scope = Scope::kAllRanks,
     .allowed = "[function:][^]name,...[;function:...]",
     .help = "Algorithms that may be chosen, for all functions or for those named."},
    {.name = "NCCL_PROTO",
     .field = &Config::proto,
     .scope = Scope::kAllRanks,
     .allowed = "[function:][^]name,...[;function:...]",
     .help = "Protocols that may be chosen, for all functions or for those named."},
    {.name = "WEFT_DETERMINISTIC",
     .field = &Config::deterministic,
     .scope = Scope::kAllRanks,
     .help =
         "1: a reduction adds in the order of ranks and rounds once, so that its bits depend on "
         "the inputs alone. An NCCL_ALGO that leaves only others (Ring, Tree, PAT) is refused."},
    {.name = "NCCL_P2P_DISABLE",
     .field = &Config::p2p_disable,
     .scope = Scope::kCommunicator,
     .help = "1: devices do not reach each other's memory directly."},
    {.name = "NCCL_SHM_DISABLE",
     .field = &Config::shm_disable,
     .scope = Scope::kCommunicator,
     .help = "1: ranks of one host do not exchange data through host memory."},
    {.name = "NCCL_CHECK_POINTERS",
     .field = &Config::check_pointers,
     .scope = Scope::kCommunicator,
     .help = "1: every call checks that its buffers belong to the communicator's device."},
    {.name = "WEFT_ALLOW_SHARED_DEVICE",
     .field = &Config::allow_shared_device,
     .scope = Scope::kAllRanks,
     .help = "1: several ranks of a communicator may use one device."},
    {.name = "WEFT_UNSAFE",
     .field = &Config::unsafe,
     .scope = Scope::kAllRanks,
     .help = "1: a protocol that nobody has shown to be right on this hardware is used when asked "
             "for."},
    {.name = "NCCL_GRAPH_MIXING_SUPPORT",
     .field = &Config::graph_mixing,
     .scope = Scope::kCommunicator,
     .help = "1: executions of graphs and other calls run in the order in which they are launched. "
             "0: the program keeps them apart, which saves a graph a wait and a record of an "
             "event."},
    // For tests of this library.
    {.name = "WEFT_EPOCH_BASE",
     .field = &Config::epoch_base,
     .scope = Scope::kAllRanks,
     .max = std::numeric_limits<uint32_t>::max(),
     .help = "For tests: first value of every step counter."},
    {.name = "WEFT_RANDOM_GRID",
     .field = &Config::random_grid,
     .scope = Scope::kAllRanks,
     .max = std::numeric_limits<uint32_t>::max(),
     .help = "For tests: seed; when not 0 every launch takes a random number of blocks."},
    // Logging.
    {.name = "NCCL_DEBUG",
     .field = &LogConfig::level,
     .scope = Scope::kProcess,
     .out_of_range = OutOfRange::kIgnore,
     .allowed = "NONE, ERROR, VERSION, WARN, INFO, ABORT or TRACE",
     .check = is_log_level,
     .help = "How much is logged. Not set: errors that end a job."},
    {.name = "NCCL_DEBUG_SUBSYS",
     .field = &LogConfig::subsystems,
     .scope = Scope::kProcess,
     .allowed =
         "[^]INIT,COLL,P2P,SHM,NET,GRAPH,TUNING,ENV,ALLOC,CALL,PROXY,NVLS,BOOTSTRAP,REG,PROFILE,"
         "RAS,VERBS,ALL",
     .help = "Which parts log at INFO; '^' means all but those. Not set: INIT,BOOTSTRAP,ENV."},
    {.name = "NCCL_DEBUG_FILE",
     .field = &LogConfig::file,
     .scope = Scope::kProcess,
     .allowed = "path",
     .help = "Log to this file, appending, in place of the standard output; %h is the host, %p the "
             "process, %% a percent sign."},
    {.name = "NCCL_DEBUG_TIMESTAMP_FORMAT",
     .field = &LogConfig::timestamp_format,
     .scope = Scope::kProcess,
     .allowed = "strftime format; %Nf: N digits of a second; '_' is a space",
     .help = "Time at the start of a line. Not set: \"[%F %T] \"."},
    {.name = "NCCL_DEBUG_TIMESTAMP_LEVELS",
     .field = &LogConfig::timestamp_levels,
     .scope = Scope::kProcess,
     .allowed = "[^]level,level,... or ALL",
     .help = "Levels whose lines carry the time. Not set: WARN."},
    {.name = "NCCL_CONF_FILE",
     .field = std::monostate{},
     .scope = Scope::kProcess,
     .allowed = "path",
     .help = "Conf file of NAME=VALUE lines, read in place of ~/.rccl.conf and ~/.nccl.conf; "
             "/etc/rccl.conf and /etc/nccl.conf follow. The environment wins over files."},
};

}  // namespace

std::span<const Setting> settings() { return kSettings; }

}  // namespace weft
