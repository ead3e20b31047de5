/** Notes of the person for the running turn. */
export interface Steering {
  /** All that has come since the last time, or undefined. */
  take(): string | undefined
}

export function createSteering(): Steering & { add(text: string): boolean } {
  const notes: string[] = []
  return {
    add: (text) => {
      const note = text.trim()
      if (note === "") return false
      notes.push(note)
      return true
    },
    take: () => (notes.length === 0 ? undefined : notes.splice(0).join("\n")),
  }
}
