import { fail } from "../base/result.ts"
import type { ImageDescriber } from "../llm/vision/image-describer.ts"
import type { Shared } from "./session-options.ts"
import type { SideModel } from "./side-model.ts"

/** Images in words come from the side model, which exists only after the model itself; its code is loaded with the first image. */
export function lateDescriber({ home }: Pick<Shared, "home">): ImageDescriber & { askThrough(side: SideModel): void } {
  let asked: SideModel | undefined
  let opening: Promise<ImageDescriber> | undefined
  const open = async (): Promise<ImageDescriber> => {
    const { createImageDescriber } = await import("../llm/vision/image-describer.ts")
    return createImageDescriber({
      home,
      ask: async (call) => (await asked?.call(call)) ?? fail({ message: "no model can describe images here" }),
    })
  }
  return {
    describe: async (image, how) => await (await (opening ??= open())).describe(image, how),
    askThrough: (side) => {
      asked = side
    },
  }
}
