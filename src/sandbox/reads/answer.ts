/** An answer of the service before anything goes wrong with it. */
export interface SandboxAnswer {
  readonly status: number;
  readonly body: string;
}
