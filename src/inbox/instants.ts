import type { InstantRules } from '../sqlite/instants.ts';

/** The repair rule for each instant of the inbox that a wrong clock has written. */
export const inboxInstants: InstantRules = {
  inbox: {
    stopped_at: 'now',
    heartbeat_at: 'now',
    watched_since: 'now',
  },
  delivery: { received_at: 'now', settled_at: 'now' },
  last_delivery: { received_at: 'now' },
  told_order: { told_at: 'now' },
  fruitless_search: { day: 'day' },
  condition_period: { began_at: 'now', ended_at: 'now', acknowledged_at: 'now' },
  callback_epoch: { begun_at: 'now', announced_at: 'now', until: 'ahead' },
  machine_clock: {
    booted_at: { leave: 'believed only within the same boot, and judged like every clock' },
    doubted_at: { leave: 'the end of a doubt that lies ahead keeps things from being forgotten, for an hour at most' },
  },
};
