import type { ProcessRegistry } from "../../exec/background/process-registry.ts"

/** Commands that go on beside the conversation. */
export type ProcessesPort = Pick<
  ProcessRegistry,
  "start" | "list" | "peek" | "look" | "wait" | "kill" | "write" | "closeInput"
>
