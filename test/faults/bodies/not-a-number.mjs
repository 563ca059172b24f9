export default () => ({ y: { within: [Number.NaN] } })
