/** As config/systemd/catalogued.service and the Dockerfile start the daemon: a small nursery frees the bytes of bodies sooner. */
export const asTheUnit = ['--max-old-space-size=256', '--max-semi-space-size=2'];
