/** The system ends a name there, so another file than the one that was checked would be used. */
export function refuseNul(path: string): void {
  if (path.includes("\0")) throw new Error("a path cannot contain a NUL character")
}
