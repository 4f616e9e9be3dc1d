import { createSecret } from '../../src/config/secrets.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { canary } from './canary.ts';
import { type Difference, differentService } from './different-service.ts';
import { type HarnessOptions, type VirtualHarness, virtualHarness } from './virtual-harness.ts';

/** A daemon whose service is the sandbox but for one difference. `service` is laid over its configuration. */
export async function differentHarness(
  difference: Difference,
  service: object = {},
  sandbox: Partial<SandboxOptions> = { quirks: { page_size: 'ignored' } },
  options: HarnessOptions = {},
): Promise<VirtualHarness> {
  let target = '';
  const different = await differentService(() => target, difference);
  const harness = await virtualHarness(
    { products: 12, key: canary.key, ...sandbox },
    { service: { profile: {}, ...service, base_url: different.url } },
    { ...options, secrets: { api_key: createSecret(canary.key) } },
  );
  target = harness.sandbox.url;
  return {
    ...harness,
    [Symbol.asyncDispose]: async () => {
      await harness[Symbol.asyncDispose]();
      await different[Symbol.asyncDispose]();
    },
  };
}
