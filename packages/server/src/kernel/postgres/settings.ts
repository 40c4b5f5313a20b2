/**
 * The settings that the embedded server runs with, each with its reason. They are given on its command line, so a
 * cluster made by an older release runs with those of the release that starts it. All other settings have PostgreSQL's
 * own default.
 */

export interface ServerSettingsOptions {
  readonly socketFolder: string;
  /** False only for the clusters of tests, which need not survive a power cut. */
  readonly durable: boolean;
  readonly maxConnections: number;
}

/** Only a name in a socket's file name: nothing listens on TCP. */
export const socketPort = 5432;

export function serverSettings(options: ServerSettingsOptions): Readonly<Record<string, string | number>> {
  const sync = options.durable ? "on" : "off";
  return {
    // No TCP; a socket in a folder that only the service's user enters.
    listen_addresses: "",
    unix_socket_directories: options.socketFolder,
    unix_socket_permissions: "0700",
    port: socketPort,

    // What was acknowledged survives a kill and a power cut. Said here so that no file in the cluster can say otherwise.
    fsync: sync,
    synchronous_commit: sync,
    full_page_writes: sync,

    // One service with its two pools and the job queue; each connection costs a process.
    max_connections: options.maxConnections,
    // A small machine runs the service and its database together; the system's file cache does the rest.
    shared_buffers: "128MB",
    // Huge pages gain nothing at this size, and "try", the default, crashes in containers that forbid them.
    huge_pages: "off",
    // Requests are many and short: a plan split over processes, or compiled, costs more than it saves. Parallel plans
    // would also need /dev/shm, of which containers have 64 MB.
    max_parallel_workers_per_gather: 0,
    jit: "off",
    // Bounds the disk that the write-ahead log takes, and with it the time of a recovery.
    max_wal_size: "512MB",
    // No replicas and no archive: the log needs only what recovery needs.
    wal_level: "minimal",
    max_wal_senders: 0,
    max_logical_replication_workers: 0,

    timezone: "UTC",
    log_timezone: "UTC",
    lc_messages: "C",

    // Personal data stays out of the server's log: an error's message and detail, its statement and its parameters
    // quote values. The service sees the errors of its own statements anyway. What is left are the server's own
    // messages (LOG, FATAL, PANIC), without details.
    log_min_messages: "log",
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    log_statement: "none",
    log_min_duration_statement: -1,
    log_parameter_max_length: 0,
    log_parameter_max_length_on_error: 0,
    // Routine news every five minutes.
    log_checkpoints: "off",
    log_autovacuum_min_duration: -1,
    // Read by server-log.ts: time, process, SQLSTATE.
    log_line_prefix: "%m [%p] %e ",
    logging_collector: "off",
    log_destination: "stderr",
  };
}
