/** The sudo password, kept only in memory and only for one session. */
export interface SudoPort {
  /** The configured password, or the one the user entered earlier. */
  password(): string | undefined
  remember(password: string): void
  /** Forgets a wrong password that the user entered; a configured one stays. */
  forget(): void
}

export function createSudoPort(configured: string | undefined): SudoPort {
  let entered: string | undefined
  return {
    password: () => configured ?? entered,
    remember: (password) => {
      entered = password
    },
    forget: () => {
      entered = undefined
    },
  }
}
