import { counter, gauge, type MeasuredFamily, one } from './measured.ts';

/** The metrics about the process, with the names that Prometheus' own clients use. */
export const processFamilies: readonly MeasuredFamily[] = [
  gauge('process_start_time_seconds', 'Start time of the daemon.', ({ process }) => one(process.started_at / 1000)),
  counter('process_cpu_seconds_total', 'Processor time, user and system.', ({ process }) => one(process.cpu_seconds)),
  gauge('process_resident_memory_bytes', 'Resident memory.', ({ process }) => one(process.resident_bytes)),
  gauge('nodejs_heap_size_used_bytes', 'Memory of the heap in use.', ({ process }) => one(process.heap_bytes)),
  gauge(
    'nodejs_eventloop_lag_p99_seconds',
    'Delay of the event loop since the last scrape, 99th percentile.',
    ({ process }) => one(process.loop_delay_p99_seconds),
  ),
  gauge(
    'nodejs_eventloop_lag_max_seconds',
    'The longest delay of the event loop since the last scrape.',
    ({ process }) => one(process.loop_delay_max_seconds),
  ),
];
