import type { LanguageFn } from "./highlight.d.ts"

declare const language: LanguageFn
export default language
