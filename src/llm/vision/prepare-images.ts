import type { ChosenModel } from "../choose-model.ts"
import { loadCatalog } from "../catalog/catalog.ts"
import type { LlmFailure } from "../failure/failure.ts"
import type { ModelRequest } from "../model.ts"
import { describeImages, imagesInContext } from "./describe-images.ts"
import { createImageFitter } from "./image-fitter.ts"
import type { ImageDescriber } from "./image-describer.ts"
import { documentedLimits } from "./image-limits.ts"
import { createToolImageMover } from "./tool-image-mover.ts"

/** Converts the images of a request to what its model accepts. Loaded with the first image of a conversation. */
export interface ImagePreparation {
  prepare(
    request: ModelRequest,
    options: PrepareOptions,
  ): Promise<{ readonly request: ModelRequest; readonly notice?: string }>
  /** Applies the limits from the server's rejection of an image. Returns true when they are stricter than before. */
  tightenLimits(limit: NonNullable<LlmFailure["imageLimit"]>): boolean
  /** The server refused the images of this request. Returns true when `prepare` describes images from now on. */
  describeFromNowOn(request: ModelRequest): Promise<boolean>
}

export interface PrepareOptions {
  readonly signal: AbortSignal
  /** Tool results may only contain text. */
  readonly textOnlyToolResults: boolean
}

/**
 * Describes images for a model without vision, else shrinks large ones and moves them out of text-only tool results.
 */
export function createImagePreparation(
  chosen: Pick<ChosenModel, "runtime" | "supportsVision">,
  describer: ImageDescriber | undefined,
): ImagePreparation {
  const { wire, model, provider } = chosen.runtime
  const fitter = createImageFitter({ limits: documentedLimits({ wire, model }), provider })
  const moveToolImages = createToolImageMover()
  let refused: boolean | undefined
  const isTextOnly = async (request: ModelRequest, images: ImageDescriber): Promise<boolean> => {
    const sees = await seesImages(chosen)
    // Only the first request can contain images that an earlier process sent.
    refused ??= sees === undefined && (await images.wasRefused(imagesInContext(request), chosen.runtime))
    return refused || sees === false
  }
  return {
    prepare: async (request, { signal, textOnlyToolResults }) => {
      if (describer !== undefined && (await isTextOnly(request, describer))) {
        return await describeImages(request, describer, { signal, textOnlyModel: chosen.runtime })
      }
      const fitted = await fitter.fit(request, { signal })
      if (!textOnlyToolResults) return fitted
      return { ...fitted, request: { ...fitted.request, messages: moveToolImages(fitted.request.messages) } }
    },
    tightenLimits: (limit) => fitter.tightenLimits(limit),
    describeFromNowOn: async (request) => {
      if (describer === undefined || refused === true) return false
      refused = true
      await describer.rememberRefusal(imagesInContext(request), chosen.runtime)
      return true
    },
  }
}

/** Undefined when unknown; the images are sent then, and the server rejects them if the model has no vision. */
async function seesImages({
  runtime,
  supportsVision: configured,
}: Pick<ChosenModel, "runtime" | "supportsVision">): Promise<boolean | undefined> {
  return configured ?? (await loadCatalog()).find(runtime.provider, runtime.model)?.vision
}
