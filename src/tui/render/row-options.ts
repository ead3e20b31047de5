import type { Theme } from "../theme/theme.ts"

export interface RowOptions {
  readonly theme: Theme
  readonly columns: number
}
