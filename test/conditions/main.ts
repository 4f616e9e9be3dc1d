import { expected, healthyDays } from './healthy.ts';
import { measure, planted } from './planted.ts';

/*
 * Prints, for each planted failure, after how many seconds of virtual time status, page, metric and alert are red, and
 * after how many they are green again when it is mended; `CODE…`: only these. `--healthy DAYS`: lives for days beside a
 * service with its habits, and prints what was shown.
 */
const [first, days] = process.argv.slice(2);
if (first === '--healthy') {
  const { looks, unexpected, shown } = await healthyDays(Number(days));
  process.stdout.write(`${days} days, ${looks} looks, ${unexpected.length} conditions that no habit explains\n`);
  for (const each of unexpected) process.stdout.write(`${each}\n`);
  for (const code of shown) process.stdout.write(`expected: ${code} (${expected[code]})\n`);
  process.exit(unexpected.length === 0 ? 0 : 1);
}

const cell = (seconds: number | null) => (seconds === null ? 'NEVER' : String(seconds)).padStart(7);
const only = process.argv.slice(2);
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
