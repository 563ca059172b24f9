import { scenario } from '../../kit/scenario.ts'

/** A thread that cannot be set up; the search must say why, and not wait for it. */
export default scenario({
  threads: [
    () => {
      throw new RangeError('no such slot')
    },
    () => () => {},
  ],
  check() {},
})
