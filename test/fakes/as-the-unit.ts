/** As config/systemd/catalogued.service and the Dockerfile start the daemon: a small nursery frees the bytes of bodies sooner. */
export const asTheUnit = ['--max-old-space-size=256', '--max-semi-space-size=2'];

/** Their environment: few pools of memory for the threads, and freed memory goes back to the system at once. */
export const unitEnvironment = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' };
