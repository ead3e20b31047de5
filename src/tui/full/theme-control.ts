import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import { systemClock } from "../../base/clock.ts"
import type { Screen } from "../screen/screen.ts"
import { askBackground, backgroundFromEnvironment } from "../theme/background-color.ts"
import type { Rgb } from "../theme/color.ts"
import { colorDepth, createTheme, DARK_BACKGROUND } from "../theme/create-theme.ts"
import { DEFAULT_SKIN } from "../theme/skins.ts"
import type { Theme } from "../theme/theme.ts"

/** The colours of the full interface. The first frame has those of the default skin. */
export interface ThemeControl {
  readonly theme: Theme
  /** Loads the skin of the settings, or the one with this name, and adapts it to the background of the terminal. */
  load(config: Config, name?: string): Promise<void>
}

export interface ThemeControlOptions {
  readonly home: Home
  readonly environment: Environment
  readonly color: boolean
  readonly screen: Screen
  readonly signal: AbortSignal
  readonly problem: (text: string) => void
}

export function createThemeControl(options: ThemeControlOptions): ThemeControl {
  const { home, environment, color, screen, signal } = options
  const variable = (name: string): string | undefined => environment.get(name)
  let theme = createTheme(DEFAULT_SKIN, {
    depth: color ? colorDepth(variable) : "none",
    background: backgroundFromEnvironment(variable) ?? DARK_BACKGROUND,
  })
  /** The background that the terminal has reported. */
  let background: Rgb | undefined
  return {
    get theme() {
      return theme
    },
    load: async (config, name) => {
      if (!color) return
      const { loadTheme } = await import("../theme/load-theme.ts")
      const directory = home.file("skins")
      const loaded = await loadTheme({ config, directory, variable, ...(name === undefined ? {} : { name }) })
      theme = background === undefined ? loaded.theme : loaded.on(background)
      if (loaded.problem !== undefined) options.problem(loaded.problem)
      if (!loaded.backgroundIsGuessed || background !== undefined) return
      background = await askBackground(screen, { clock: systemClock, signal })
      if (background !== undefined) theme = loaded.on(background)
    },
  }
}
