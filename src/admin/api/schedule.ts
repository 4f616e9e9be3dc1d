import { z } from 'zod';
import { jobRuns } from '../../daemon/job-runs.rules.ts';
import { bit, text } from './values.ts';

export const schedule = z.object({ jobs: z.array(jobRuns) });

export const jobNamed = z.object({ name: text.meta({ description: 'the name of a job of the schedule' }) });
export const jobAnswer = z.object({ ...jobRuns.shape, joined: bit.meta({ description: 'it was already running' }) });
