import type { Redactor } from "../../base/redact.ts"
import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { chooseEmbeddings } from "../../llm/embeddings/choose-embeddings.ts"
import type { ChosenEmbeddings } from "../../llm/embeddings/choose-embeddings.ts"
import { createEmbeddingClient } from "../../llm/embeddings/embedding-client.ts"
import type { EmbeddingClient } from "../../llm/embeddings/embedding-client.ts"
import { chooseModelFor, openProviderPool } from "./model-sources.ts"
import type { ModelSources } from "./model-sources.ts"

/** The endpoint that `memory.semantic` selects, with the keys and logins of this home. Makes no request. */
export function chooseEmbeddingsFor(sources: ModelSources): Result<ChosenEmbeddings> {
  return chooseEmbeddings({ ...sources, choose: (selection) => chooseModelFor(sources, selection) })
}

/** A client for that endpoint. The failure is a sentence that says what to set. */
export async function openEmbeddings(
  sources: ModelSources & { readonly redactor: Redactor },
): Promise<Result<EmbeddingClient>> {
  const embeddings = chooseEmbeddingsFor(sources)
  if (!embeddings.ok) return fail(embeddings.error)
  const { chosen } = embeddings.value
  const credentials = chosen.usesPool ? await openProviderPool(chosen.runtime.provider, sources) : undefined
  return createEmbeddingClient(embeddings.value, {
    ...sources,
    // Text that leaves the machine is redacted even when the user has turned redaction off.
    redact: (text) => sources.redactor.redact(text, { force: true }),
    ...(credentials !== undefined && { credentials }),
  })
}
