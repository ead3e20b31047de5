import type { ChosenModel } from "../choose-model.ts"
import { loadCatalog } from "../catalog/catalog.ts"
import type { LlmFailure } from "../failure/failure.ts"
import type { ModelRequest } from "../model.ts"
import { describedRequest } from "./described-request.ts"
import { createImageFitter } from "./fitted-request.ts"
import type { ImageDescriber } from "./image-describer.ts"
import { knownLimits } from "./image-limits.ts"
import { createImageMover } from "./images-after-results.ts"

/** Makes a request with images one that its model can take. Loaded with the first image of a conversation. */
export interface ImagePreparation {
  prepare(
    request: ModelRequest,
    how: PrepareOptions,
  ): Promise<{ readonly request: ModelRequest; readonly notice?: string }>
  /** The server found an image too large. True when images are made smaller from now on than before. */
  learn(limit: NonNullable<LlmFailure["imageLimit"]>): boolean
}

export interface PrepareOptions {
  readonly signal: AbortSignal
  /** The result of a tool may only be text here. */
  readonly textResults: boolean
}

/** In words where the model is known to see none, smaller where they are too large, and behind a result that may not hold them. */
export function createImagePreparation(
  chosen: Pick<ChosenModel, "runtime" | "seesImages">,
  describer: ImageDescriber | undefined,
): ImagePreparation {
  const { wire, model, provider } = chosen.runtime
  const fitter = createImageFitter({ limits: knownLimits({ wire, model }), provider })
  const moved = createImageMover()
  return {
    prepare: async (request, { signal, textResults }) => {
      if (describer !== undefined && (await seesImages(chosen)) === false) {
        return await describedRequest(request, describer, { signal })
      }
      const fitted = await fitter.fit(request, { signal })
      if (!textResults) return fitted
      return { ...fitted, request: { ...fitted.request, messages: moved(fitted.request.messages) } }
    },
    learn: (limit) => fitter.learn(limit),
  }
}

/** Undefined when nobody knows; it is then sent what there is, and says so if it cannot see. */
async function seesImages({
  runtime,
  seesImages: told,
}: Pick<ChosenModel, "runtime" | "seesImages">): Promise<boolean | undefined> {
  return told ?? (await loadCatalog()).find(runtime.provider, runtime.model)?.vision
}
