/** Finds known texts in a stream by their first characters, so that nothing is held back for a single letter. */
export interface StreamedForms {
  /** Whether one of the texts may begin in the delta, or in the few characters before it. */
  touches(before: string, delta: string): boolean
  /** The start of a text that is not complete yet, or that the given index would cut; the index if there is none. */
  heldFrom(text: string, index: number): number
  /** Masks the complete texts in `ready`. The first characters of one may have been shown with `shown`. */
  mask(shown: string, ready: string): string
}

/** As many characters are shown before a text is recognised, minus one. Three of base64 stand for two of the secret. */
export const RECOGNISED_CHARS = 4

/** `forms` may grow while the text streams. */
export function createStreamedForms(forms: readonly string[]): StreamedForms {
  let index = new Map<string, readonly string[]>()
  let indexed = 0
  const byBeginning = (): ReadonlyMap<string, readonly string[]> => {
    if (forms.length !== indexed) {
      index = Map.groupBy(forms, (form) => form.slice(0, RECOGNISED_CHARS))
      indexed = forms.length
    }
    return index
  }
  const formsAt = (text: string, at: number): readonly string[] =>
    byBeginning().get(text.slice(at, at + RECOGNISED_CHARS)) ?? NONE
  /** Where complete texts are, the longest at each position. */
  const complete = (text: string): readonly Span[] => {
    const spans: Span[] = []
    for (let at = 0; at <= text.length - RECOGNISED_CHARS; at += 1) {
      const lengths = formsAt(text, at).flatMap((form) => (text.startsWith(form, at) ? [form.length] : []))
      if (lengths.length === 0) continue
      const end = at + Math.max(...lengths)
      spans.push({ start: at, end })
      at = end - 1
    }
    return spans
  }
  return {
    touches: (before, delta) => {
      if (forms.length === 0) return false
      const text = before + delta
      for (let at = 0; at <= text.length - RECOGNISED_CHARS; at += 1) if (formsAt(text, at).length > 0) return true
      return false
    },
    heldFrom: (text, from) => {
      if (forms.length === 0) return from
      let held = from
      for (let at = 0; at < Math.min(held, text.length - RECOGNISED_CHARS + 1); at += 1) {
        const rest = text.slice(at)
        if (formsAt(text, at).some((form) => form.length > rest.length && form.startsWith(rest))) held = at
      }
      return complete(text).find(({ start, end }) => start < held && held < end)?.start ?? held
    },
    mask: (shown, ready) => {
      if (forms.length === 0) return ready
      const spans = complete(shown + ready).filter(({ end }) => end > shown.length)
      let masked = ""
      let at = shown.length
      for (const { start, end } of spans) {
        masked += `${(shown + ready).slice(at, Math.max(at, start))}***`
        at = end
      }
      return masked + (shown + ready).slice(at)
    },
  }
}

interface Span {
  readonly start: number
  readonly end: number
}

const NONE: readonly string[] = []
