import { anyNumber, commandLine } from '../command-line.ts';
import { expected, healthyDays } from './healthy.ts';
import { measure, planted } from './planted.ts';

const command = commandLine(
  'npm run test:conditions --',
  'Prints, for each planted failure, after how many seconds of virtual time status, page, metric and alert are red, and green again.',
  { '': 'all', 'disk-full': 'one', '--healthy 30': 'a month without a failure' },
)
  .argument('[codes...]', 'only failures that show these conditions')
  .option('--healthy <days>', 'live beside a service with its habits, and print what was shown', anyNumber)
  .parse();
const { healthy: days } = command.opts<{ healthy?: number }>();
if (days !== undefined) {
  const { looks, unexpected, shown } = await healthyDays(days);
  process.stdout.write(`${days} days, ${looks} looks, ${unexpected.length} conditions that no habit explains\n`);
  for (const each of unexpected) process.stdout.write(`${each}\n`);
  for (const code of shown) process.stdout.write(`expected: ${code} (${expected[code]})\n`);
  process.exit(unexpected.length === 0 ? 0 : 1);
}

const cell = (seconds: number | null) => (seconds === null ? 'NEVER' : String(seconds)).padStart(7);
const only = command.args;
process.stdout.write(`${'planted'.padEnd(48)} ${'condition'.padEnd(21)} limit   status   page metric  alert   green\n`);
let missed = 0;
for (const each of planted.filter(({ code }) => only.length === 0 || only.includes(code))) {
  const { failure, code, red, green, within_s } = await measure(each);
  const gone = Object.values(green).includes(null) ? null : Math.max(...Object.values(green).map(Number));
  missed += Object.values(red).includes(null) || gone === null ? 1 : 0;
  const shown = [red.status, red.page, red.metric, red.alert, gone].map(cell).join('');
  process.stdout.write(`${failure.padEnd(48)} ${code.padEnd(21)}${String(within_s).padStart(6)}  ${shown}\n`);
}
process.exitCode = missed === 0 ? 0 : 1;
