import { readdirSync, readFileSync } from "node:fs"

/** Lists the shells that the Hermes process `ancestor` has started ahead of the next command, itself or through its helper. */
export function prewarmedShells(ancestor: number): readonly number[] {
  const processes = new Map(
    readdirSync("/proc").flatMap((name) => {
      const found = /^\d+$/.test(name) ? processFacts(name) : undefined
      return found === undefined ? [] : [[Number(name), found] as const]
    }),
  )
  return [...processes].flatMap(([pid, { parent, isShell }]) =>
    isShell && (parent === ancestor || processes.get(parent)?.parent === ancestor) && !processes.get(parent)?.isShell
      ? [pid]
      : [],
  )
}

function processFacts(pid: string): { readonly parent: number; readonly isShell: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    if (state === "Z") return undefined
    return { parent: Number(parent), isShell: readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("__hermes_size") }
  } catch {
    // The process exited in the meantime.
    return undefined
  }
}
