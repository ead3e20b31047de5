import type { NamedCheckpoints } from "../../exec/checkpoints/named-checkpoints.ts"

/** States of the workspace, and where it is asked for of the conversation, under names of the session. */
export type CheckpointPort = NamedCheckpoints
