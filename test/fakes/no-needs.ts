import type { ScheduleOptions } from '../../src/daemon/schedule.ts';

/** Options of a schedule whose jobs are never kept from their work. */
export const noNeeds: Pick<ScheduleOptions, 'unmet' | 'writing'> = { unmet: () => null, writing: (work) => work() };
