import { statSync } from "node:fs"

/** The sudo password, kept only in memory and only for one session. */
export interface SudoPort {
  /** The configured password, or the one the user entered earlier. */
  password(): string | undefined
  remember(password: string): void
  /** Forgets a wrong password that the user entered; a configured one stays. */
  forget(): void
  /** Where sudo is installed. The password is given to no other program, whatever comes first on the PATH. */
  readonly programs: readonly string[]
  /** Whether a path of this machine is a program that only root can have installed. */
  isGenuine(path: string): boolean
}

const PROGRAMS = ["/usr/bin/sudo", "/usr/local/bin/sudo", "/bin/sudo", "/run/wrappers/bin/sudo"]

export function createSudoPort(
  configured: string | undefined,
  { programs = PROGRAMS, isGenuine = isOwnedByRoot }: Partial<Pick<SudoPort, "programs" | "isGenuine">> = {},
): SudoPort {
  let entered: string | undefined
  return {
    password: () => configured ?? entered,
    remember: (password) => {
      entered = password
    },
    forget: () => {
      entered = undefined
    },
    programs,
    isGenuine,
  }
}

const SET_USER_ID = 0o4000
const OTHERS_WRITE = 0o022

function isOwnedByRoot(path: string): boolean {
  const facts = statSync(path, { throwIfNoEntry: false })
  if (facts?.isFile() !== true || facts.uid !== 0) return false
  return (facts.mode & SET_USER_ID) !== 0 && (facts.mode & OTHERS_WRITE) === 0
}
