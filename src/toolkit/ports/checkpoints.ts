import type { NamedCheckpoints } from "../../exec/checkpoints/named-checkpoints.ts"

/** Named states of the workspace and optionally of the conversation. */
export type CheckpointPort = NamedCheckpoints
