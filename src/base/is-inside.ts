import { isAbsolute, relative, sep } from "node:path"

/** Whether a path is a directory or lies below it. Compares the paths as text: symbolic links are not resolved. */
export function isInside(path: string, directory: string): boolean {
  const steps = relative(directory, path)
  return steps === "" || (steps !== ".." && !steps.startsWith(`..${sep}`) && !isAbsolute(steps))
}
