import { lazy } from "../../base/lazy.ts"
import { fail } from "../../base/result.ts"
import type { ImageDescriber } from "../../llm/vision/image-describer.ts"
import type { Services } from "../services/services.ts"
import type { AuxiliaryModel } from "./auxiliary-model.ts"

/**
 * Describes images through the auxiliary model. The model client needs it before the auxiliary model exists, so that is set later;
 * the code is loaded with the first image.
 */
export function lazyImageDescriber({
  home,
}: Pick<Services, "home">): ImageDescriber & { setAuxiliary(auxiliary: AuxiliaryModel): void } {
  let auxiliary: AuxiliaryModel | undefined
  const describer = lazy(async () => {
    const { createImageDescriber } = await import("../../llm/vision/image-describer.ts")
    return createImageDescriber({
      home,
      callAuxiliary: async (call) =>
        (await auxiliary?.call(call)) ?? fail({ message: "no model can describe images here" }),
    })
  })
  return {
    describe: async (image, how) => await (await describer()).describe(image, how),
    rememberRefusal: async (images, model) => await (await describer()).rememberRefusal(images, model),
    wasRefused: async (images, model) => await (await describer()).wasRefused(images, model),
    setAuxiliary: (model) => {
      auxiliary = model
    },
  }
}
