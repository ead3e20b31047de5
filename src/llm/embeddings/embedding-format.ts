import { isRecord } from "../../base/json.ts"

/** How an endpoint is asked for embeddings. */
export interface EmbeddingFormat {
  readonly name: "openai" | "gemini" | "ollama"
  path(model: string): string
  body(request: EmbeddingRequest): unknown
  /** The vectors in the order of the texts; undefined when the response is not as documented. */
  parse(json: unknown): readonly (readonly number[])[] | undefined
}

export interface EmbeddingRequest {
  readonly model: string
  readonly texts: readonly string[]
  /** 0: the default of the model. */
  readonly dims: number
  readonly purpose: "document" | "query"
}

/** `POST /embeddings` of OpenAI and everything compatible with it. */
export const OPENAI_EMBEDDINGS: EmbeddingFormat = {
  name: "openai",
  path: () => "/embeddings",
  body: ({ model, texts, dims }) => ({
    model,
    input: texts,
    encoding_format: "float",
    ...(dims > 0 && { dimensions: dims }),
  }),
  parse: (json) => {
    const data = isRecord(json) && Array.isArray(json["data"]) ? json["data"] : undefined
    const entries = data?.map((entry: unknown, position) => ({
      index: isRecord(entry) && typeof entry["index"] === "number" ? entry["index"] : position,
      vector: isRecord(entry) ? numbers(entry["embedding"]) : undefined,
    }))
    return complete(entries?.toSorted((a, b) => a.index - b.index).map(({ vector }) => vector))
  },
}

/** `POST /models/<model>:batchEmbedContents` of the Gemini API. */
export const GEMINI_EMBEDDINGS: EmbeddingFormat = {
  name: "gemini",
  path: (model) => `/models/${encodeURIComponent(model)}:batchEmbedContents`,
  body: ({ model, texts, dims, purpose }) => ({
    requests: texts.map((text) => ({
      model: `models/${model}`,
      content: { parts: [{ text }] },
      taskType: purpose === "query" ? "RETRIEVAL_QUERY" : "RETRIEVAL_DOCUMENT",
      ...(dims > 0 && { outputDimensionality: dims }),
    })),
  }),
  parse: (json) => {
    const embeddings = isRecord(json) && Array.isArray(json["embeddings"]) ? json["embeddings"] : undefined
    return complete(embeddings?.map((entry: unknown) => (isRecord(entry) ? numbers(entry["values"]) : undefined)))
  },
}

/** `POST /api/embed` of Ollama. */
export const OLLAMA_EMBEDDINGS: EmbeddingFormat = {
  name: "ollama",
  path: () => "/api/embed",
  body: ({ model, texts, dims }) => ({ model, input: texts, truncate: true, ...(dims > 0 && { dimensions: dims }) }),
  parse: (json) => {
    const embeddings = isRecord(json) && Array.isArray(json["embeddings"]) ? json["embeddings"] : undefined
    return complete(embeddings?.map(numbers))
  },
}

function numbers(value: unknown): readonly number[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.every((entry): entry is number => typeof entry === "number" && Number.isFinite(entry))
    ? value
    : undefined
}

function complete(
  vectors: readonly (readonly number[] | undefined)[] | undefined,
): readonly (readonly number[])[] | undefined {
  const found = vectors?.filter((vector) => vector !== undefined)
  return found !== undefined && found.length === vectors?.length ? found : undefined
}
