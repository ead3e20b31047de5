/** The password for sudo, kept in memory for one session and nowhere else. */
export interface SudoPort {
  /** The configured one, or the one the person gave earlier. */
  password(): string | undefined
  remember(password: string): void
  /** What the person gave was wrong; a configured one stays. */
  forget(): void
}

export function createSudoPort(configured: string | undefined): SudoPort {
  let given: string | undefined
  return {
    password: () => configured ?? given,
    remember: (password) => {
      given = password
    },
    forget: () => {
      given = undefined
    },
  }
}
