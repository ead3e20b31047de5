import type { Config } from "../../config/load-config.ts"
import { backgroundFromEnvironment } from "./background-color.ts"
import type { Rgb } from "./color.ts"
import { colorDepth, createTheme, DARK_BACKGROUND } from "./create-theme.ts"
import { loadSkin } from "./load-skin.ts"
import type { Skin } from "./skin.ts"
import type { Theme } from "./theme.ts"

export interface LoadedTheme {
  readonly skin: Skin
  readonly theme: Theme
  /** The environment does not say what the background is, so the terminal should be asked. */
  readonly backgroundIsGuessed: boolean
  /** A sentence for the user when the skin, or a part of it, cannot be used. */
  readonly problem?: string
  /** The same skin on another background. */
  on(background: Rgb): Theme
}

/** Loads the skin that the settings name, for the colours and the background of this terminal. */
export async function loadTheme(options: {
  readonly config: Pick<Config, "get">
  /** The directory `skins` of the home. */
  readonly directory: string
  readonly variable: (name: string) => string | undefined
  /** Another skin than that of the settings, for a preview. */
  readonly name?: string
}): Promise<LoadedTheme> {
  const { config, directory, variable } = options
  const loaded = await loadSkin(options.name ?? config.get("display.skin"), directory)
  const background = backgroundFromEnvironment(variable)
  const depth = colorDepth(variable)
  const on = (color: Rgb): Theme => createTheme(loaded.skin, { depth, background: color })
  return {
    ...loaded,
    theme: on(background ?? DARK_BACKGROUND),
    backgroundIsGuessed: background === undefined && depth !== "none",
    on,
  }
}
