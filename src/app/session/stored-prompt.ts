import { fingerprint } from "../../base/random-and-hash.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { SessionRow } from "../../state/store.ts"

/** The key in a session's `model_config` that lists its declared tools. */
export const DECLARED_TOOLS = "declared_tools"

/** The key with the fingerprint of the prompt that this edition stored. */
const PROMPT_FINGERPRINT = "prompt_fingerprint"

/**
 * The stored system prompt, if this edition wrote it. The Python edition's prompt names tools that do not exist here, and it may
 * replace the prompt of a session that was started here.
 */
export function ownPrompt({ systemPrompt, modelConfig }: SessionRow): string | undefined {
  if (systemPrompt === null || systemPrompt === "") return undefined
  const known = modelConfig[PROMPT_FINGERPRINT]
  // Earlier releases listed the tools but stored no fingerprint.
  const isOwn = known === undefined ? modelConfig[DECLARED_TOOLS] !== undefined : known === fingerprint(systemPrompt)
  return isOwn ? systemPrompt : undefined
}

/** Marks a prompt as written by this edition. */
export function promptMark(systemPrompt: string): Readonly<Record<string, string>> {
  return { [PROMPT_FINGERPRINT]: fingerprint(scrubSurrogates(systemPrompt)) }
}
