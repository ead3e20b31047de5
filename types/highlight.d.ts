// The package's own types add all types of a browser to every file, so what Hermes uses of it is declared here.

export type LanguageFn = (highlighter: HLJSApi) => object

export interface Emitter {
  addText(text: string): void
  toHTML(): string
  finalize(): void
  openNode(name: string): void
  closeNode(): void
  startScope(name: string): void
  endScope(): void
  __addSublanguage(emitter: Emitter, name: string): void
}

export interface HighlightResult {
  readonly value: string
  readonly errorRaised?: Error
  readonly _emitter: Emitter
  readonly _top?: object
}

export interface HLJSApi {
  newInstance(): HLJSApi
  configure(options: {
    readonly __emitter: new (options: object) => Emitter
    readonly throwUnescapedHTML: boolean
  }): void
  registerLanguage(name: string, language: LanguageFn): void
  getLanguage(name: string): object | undefined
  highlight(code: string, options: { readonly language: string; readonly ignoreIllegals?: boolean }): HighlightResult
}

declare const highlighter: HLJSApi
export default highlighter
