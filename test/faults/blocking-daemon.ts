import { configPath, loadConfig } from '../../src/config/load.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { thisMachine } from '../../src/daemon/machine.ts';
import { createLog } from '../../src/kernel/log.ts';

/*
 * `node blocking-daemon.ts CONFIG`: a daemon that waits for locks inside a statement, as it once did. The control of the
 * harness that measures its event loop.
 */
const loaded = loadConfig({ file: configPath(process.argv[2], process.env), env: process.env });
const daemon = await startDaemon(thisMachine(createLog('info', process.stdout)), loaded);
daemon.mirror.waitForLocks(250);
process.stdout.write('{"msg":"daemon started"}\n');
process.on('SIGTERM', () => void daemon[Symbol.asyncDispose]().then(() => process.exit(0)));
