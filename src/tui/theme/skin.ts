import type { ColorRole, Theme } from "./theme.ts"

/** What a skin defines. Colours are written for one background; the theme adapts them to the terminal's. */
export interface Skin extends Pick<Theme, "spinner" | "branding" | "toolPrefix" | "toolEmojis"> {
  readonly name: string
  readonly description: string
  /** `#rrggbb` or the name of a basic colour. */
  readonly colors: Readonly<Record<ColorRole, string>>
  /** Pictures for the banner, as lines. */
  readonly bannerLogo: string
  readonly bannerHero: string
}
