import nothing from 'no-such-package-anywhere'
export default () => ({ y: nothing })
