/** The user's notes for the running turn. */
export interface Steering {
  /** Returns and removes the pending notes; undefined when there are none. */
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
