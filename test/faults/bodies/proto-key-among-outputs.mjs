export default () => JSON.parse('{"__proto__": {"polluted": 1}, "y": 1}')
